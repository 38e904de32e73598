// The element picker: what is clicked in the frame becomes a rule, and past versions are tried by it at once.
(function () {
  "use strict";
  var frame = document.getElementById("picked-page");
  var bar = document.getElementById("picked");
  var form = document.getElementById("rules");
  if (!frame || !bar || !form) return;
  var name = document.getElementById("picked-name");
  var text = document.getElementById("picked-text");
  var row = document.getElementById("rule");

  function chosen(kind) {
    var found = [];
    form.querySelectorAll("input[name=" + kind + "]:checked").forEach(function (box) {
      if (found.indexOf(box.value) < 0) found.push(box.value);
    });
    return found;
  }

  function mark() {
    frame.contentWindow.postMessage({ marks: { keep: chosen("keep"), ignore: chosen("ignore") } }, "*");
  }

  function add(kind) {
    var selector = name.textContent;
    if (!selector || chosen(kind).indexOf(selector) >= 0) return;
    var item = row.content.firstElementChild.cloneNode(true);
    var box = item.querySelector("input");
    box.name = kind;
    box.value = selector;
    item.querySelector("code").textContent = selector;
    document.getElementById("chosen-" + kind).appendChild(item);
    box.dispatchEvent(new Event("change", { bubbles: true }));
  }

  window.addEventListener("message", function (event) {
    if (event.source !== frame.contentWindow || !event.data) return;
    if (event.data.ready) mark();
    if (typeof event.data.picked !== "string") return;
    name.textContent = event.data.picked.slice(0, 900);
    text.textContent = String(event.data.text || "").slice(0, 120);
    bar.hidden = false;
  });
  form.addEventListener("change", mark);
  bar.addEventListener("click", function (event) {
    var button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.kind) add(button.dataset.kind);
    else frame.contentWindow.postMessage({ wider: true }, "*");
  });
})();
