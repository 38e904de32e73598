// The script of every page: times in the reader's zone, keys of the search page, copying a command, wide tables on
// a telephone. Pages are whole without it.
(function () {
  "use strict";
  var language = document.documentElement.lang || undefined;
  var zone = document.documentElement.dataset.zone || undefined; // chosen; else that of the browser
  var moment = format({ dateStyle: "medium", timeStyle: "short" });
  var day = format({ dateStyle: "medium" });
  function format(options) {
    try {
      return new Intl.DateTimeFormat(language, Object.assign({ timeZone: zone }, options));
    } catch (error) { // a zone that this browser does not know
      return new Intl.DateTimeFormat(language, options);
    }
  }
  function localise(root) {
    root.querySelectorAll("time[datetime]").forEach(function (element) {
      var date = new Date(element.getAttribute("datetime"));
      if (isNaN(date)) return;
      element.textContent = (element.hasAttribute("data-day") ? day : moment).format(date);
      element.title = element.getAttribute("datetime");
    });
  }
  localise(document);
  var here = document.querySelector(".menu [aria-current]");
  if (here) here.parentNode.scrollLeft = here.offsetLeft - (here.parentNode.clientWidth - here.offsetWidth) / 2; // seen on a narrow screen
  // `/` goes to the search box, `j` and `k` to the next and the previous result
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    var box = document.getElementById("q");
    if (event.key === "/" && box) {
      event.preventDefault();
      box.focus();
      box.select();
    } else if (event.key === "j" || event.key === "k") {
      var results = Array.from(document.querySelectorAll(".results h2 a"));
      var at = results.findIndex(function (link) { return link.closest("li").contains(document.activeElement); });
      var next = results[event.key === "j" ? at + 1 : Math.max(0, at - 1)];
      if (next) next.focus();
    }
  });
  // a button that copies what another element says; where the browser does not allow it, the text is selected
  function offer_copies(root) { root.querySelectorAll("button[data-copy]").forEach(function (button) {
    var source = document.getElementById(button.getAttribute("data-copy"));
    button.hidden = false;
    button.addEventListener("click", function () {
      function done() { button.textContent = button.getAttribute("data-copied"); }
      window.getSelection().selectAllChildren(source);
      if (navigator.clipboard) navigator.clipboard.writeText(source.textContent).then(done, function () {});
      else if (document.execCommand("copy")) done();
    });
  }); }
  offer_copies(document);
  // on a telephone a table that is wider than the screen becomes cards: each cell says its heading
  function stack(root) {
    if (!window.matchMedia("(max-width: 40rem)").matches) return;
    root.querySelectorAll(".scroll > table:not(.sides)").forEach(function (table) {
      var headings = table.querySelectorAll("thead tr:only-child > th");
      if (table.parentElement.scrollWidth <= table.parentElement.clientWidth || !headings.length) return;
      table.classList.add("stacked");
      table.setAttribute("role", "table"); // another display takes the meaning of tables away
      table.querySelectorAll("thead, tbody").forEach(function (part) { part.setAttribute("role", "rowgroup"); });
      table.querySelectorAll("tr").forEach(function (row) {
        row.setAttribute("role", "row");
        Array.from(row.cells).forEach(function (cell, at) {
          cell.setAttribute("role", cell.tagName === "TD" ? "cell" : row.parentElement.tagName === "THEAD" ? "columnheader" : "rowheader");
          if (headings[at]) cell.dataset.heading = headings[at].textContent.trim();
        });
      });
    });
  }
  stack(document);
  // on a telephone the menu of a section slides: where the reader is, is in view
  var here = document.querySelector(".menu [aria-current]");
  if (here) here.parentElement.scrollLeft = here.offsetLeft - here.parentElement.clientWidth / 2;
  document.addEventListener("htmx:afterSwap", function (event) {
    localise(event.target);
    offer_copies(event.target);
    stack(event.target.parentElement || document);
  });
})();
