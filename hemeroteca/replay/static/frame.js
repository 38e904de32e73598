// The bar above an archived page: which capture it is, and ways back to the console. Follows the page when a link in it
// is clicked. The page below has the same origin and could change this bar; docs/decisions/0064-replay-origin.md says why that is borne.
(function () {
  "use strict";
  var bar = document.getElementById("bar");
  var console_ = bar.dataset.console;
  var format = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });

  function show(url, timestamp) {
    if (typeof url !== "string" || !/^https?:/i.test(url)) return;
    document.getElementById("address").textContent = url;
    document.getElementById("address").title = url;
    var found = /^(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?$/.exec(timestamp || "");
    if (found) {
      var moment = new Date(Date.UTC(+found[1], (found[2] || 1) - 1, found[3] || 1, found[4] || 0, found[5] || 0, found[6] || 0));
      var when = document.getElementById("when");
      when.textContent = format.format(moment);
      when.dateTime = moment.toISOString();
      when.title = when.dateTime;
    }
    bar.querySelectorAll("[data-go]").forEach(function (link) {
      var ask = "url=" + encodeURIComponent(url) + "&at=" + encodeURIComponent(timestamp || "");
      link.href = link.dataset.go === "versions" ? console_ + "/page?url=" + encodeURIComponent(url)
        : console_ + "/at?" + ask + "&go=" + link.dataset.go;
    });
  }

  // What pywb's frame script calls.
  window.WBBanner = {
    init: function () {},
    stillIndicatesLoading: function () { return false; },
    updateCaptureInfo: function () {},
    onMessage: function (event) {
      var told = event.data;
      if (told.wb_type !== "load" && told.wb_type !== "replace-url") return;
      show(told.url, told.ts || told.request_ts);
      if (typeof told.title === "string" && told.title) document.title = told.title.slice(0, 300);
    }
  };
  show(bar.dataset.url, bar.dataset.timestamp);
  new ContentFrame({
    url: bar.dataset.url + window.location.hash,
    app_prefix: bar.dataset.prefix,
    content_prefix: bar.dataset.pages,
    request_ts: bar.dataset.timestamp,
    iframe: "#replay_iframe"
  });
})();
