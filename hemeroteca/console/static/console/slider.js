// Two screenshots one over the other: the slider says how much of the newer one covers the older.
(function () {
  "use strict";
  document.querySelectorAll("[data-slider]").forEach(function (box) {
    var range = box.querySelector("input"), over = box.querySelector(".over");
    function show() { over.style.clipPath = "inset(0 0 0 " + (100 - range.value) + "%)"; }
    box.classList.add("live");
    range.addEventListener("input", show);
    show();
  });
})();
