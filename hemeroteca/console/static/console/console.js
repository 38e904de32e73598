// The only script of our own: times in the reader's zone. Pages are whole without it.
(function () {
  "use strict";
  var language = document.documentElement.lang || undefined;
  var moment = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
  var day = new Intl.DateTimeFormat(language, { dateStyle: "medium" });
  function localise(root) {
    root.querySelectorAll("time[datetime]").forEach(function (element) {
      var date = new Date(element.getAttribute("datetime"));
      if (isNaN(date)) return;
      element.textContent = (element.hasAttribute("data-day") ? day : moment).format(date);
      element.title = element.getAttribute("datetime");
    });
  }
  localise(document);
  document.addEventListener("htmx:afterSwap", function (event) { localise(event.target); });
})();
