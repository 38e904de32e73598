// Tells the bar above that what is shown below it is not a capture.
(function () {
  "use strict";
  if (window.parent !== window) {
    window.parent.postMessage({ wb_type: "missing", url: document.body.dataset.url }, window.location.origin);
  }
})();
