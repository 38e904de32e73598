// The bar above an archived page: which capture it is, its other versions, and ways back to the console. Follows the page
// when a link in it is clicked. The page below has the same origin and could change this bar;
// docs/decisions/0063-replay.md says why that is borne.
(function () {
  "use strict";
  var bar = document.getElementById("bar");
  var console_ = bar.dataset.console + bar.dataset.publication;
  var timeline = document.getElementById("timeline");
  var address = document.getElementById("address");
  // One zone, named, to the second: two versions of one minute read differently, and the same as in the calendar.
  var format = new Intl.DateTimeFormat(document.documentElement.lang, {
    dateStyle: "medium", timeStyle: "medium", timeZone: "UTC"
  });
  var shown = { url: "", stamp: "" };
  var known = { url: "", stamps: [] };

  function moment(stamp) {
    var found = /^(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?$/.exec(stamp || "");
    return found && new Date(Date.UTC(
      +found[1], (found[2] || 1) - 1, found[3] || 1, found[4] || 0, found[5] || 0, found[6] || 0));
  }

  function text(stamp) {
    return format.format(moment(stamp)) + " UTC";
  }

  function show(url, stamp) {
    if (typeof url !== "string" || !/^https?:/i.test(url)) return;
    shown = { url: url, stamp: moment(stamp) ? stamp : "" };
    if (document.activeElement !== address) address.value = url;
    address.title = url;
    document.getElementById("state").textContent = shown.stamp ? bar.dataset.captured : bar.dataset.missing;
    var when = document.getElementById("when");
    when.hidden = !shown.stamp;
    if (shown.stamp) {
      when.textContent = text(stamp);
      when.dateTime = moment(stamp).toISOString();
      when.title = moment(stamp).toLocaleString(document.documentElement.lang, { timeZoneName: "long" });
    }
    var ask = "url=" + encodeURIComponent(url);
    link("versions", console_ + "/page?" + ask);
    link("about", shown.stamp && console_ + "/at?" + ask + "&at=" + stamp + "&go=about");
    if (known.url === url) arrows();
    else {
      link("previous", "");
      link("next", "");
      timeline.hidden = true;
      fetch("/_/captures?url=" + encodeURIComponent(url)).then(function (told) { return told.json(); }).then(function (stamps) {
        known = { url: url, stamps: stamps };
        if (shown.url === url) arrows();
      }, function () {});
    }
  }

  function link(name, place) {
    var found = bar.querySelector('[data-go="' + name + '"]');
    if (place) found.href = place; else found.removeAttribute("href");
    if (place) found.removeAttribute("aria-disabled"); else found.setAttribute("aria-disabled", "true");
  }

  // The version before and after the one that is shown: its own moment, or the last before it.
  function arrows() {
    var stamps = known.stamps, current = -1;
    stamps.forEach(function (stamp, number) { if (stamp <= shown.stamp) current = number; });
    var before = shown.stamp && stamps[current] === shown.stamp ? current - 1 : current;
    link("previous", before >= 0 && place(stamps[before]));
    link("next", stamps[current + 1] && shown.stamp && place(stamps[current + 1]));
    draw(current);
  }

  function place(stamp) {
    return bar.dataset.prefix + stamp + "/" + shown.url;
  }

  function draw(current) {
    var stamps = known.stamps;
    timeline.hidden = stamps.length < 2;
    timeline.textContent = "";
    if (timeline.hidden) return;
    var first = moment(stamps[0]).getTime(), span = moment(stamps[stamps.length - 1]).getTime() - first || 1;
    var step = Math.ceil(stamps.length / 200);
    stamps.forEach(function (stamp, number) {
      if (number % step && number !== current && number !== stamps.length - 1) return;
      var tick = document.createElement("a");
      tick.href = place(stamp);
      tick.title = text(stamp);
      tick.setAttribute("aria-label", text(stamp));
      if (number === current) tick.setAttribute("aria-current", "true");
      tick.tabIndex = number === current ? 0 : -1;
      tick.style.left = (100 * (moment(stamp).getTime() - first) / span).toFixed(2) + "%";
      timeline.appendChild(tick);
    });
  }

  document.getElementById("go").addEventListener("submit", function (event) {
    event.preventDefault();
    var url = address.value.trim();
    if (!url) return;
    window.location = bar.dataset.prefix + (shown.stamp || "") + "/" + (/^https?:/i.test(url) ? url : "http://" + url);
  });
  timeline.addEventListener("keydown", function (event) {
    var way = { ArrowLeft: "previousElementSibling", ArrowRight: "nextElementSibling" }[event.key];
    var to = way && document.activeElement[way];
    if (to) { to.focus(); event.preventDefault(); }
  });

  // What pywb's frame script calls.
  window.WBBanner = {
    init: function () {},
    stillIndicatesLoading: function () { return false; },
    updateCaptureInfo: function () {},
    onMessage: function (event) {
      var told = event.data;
      if (told.wb_type === "missing") return show(told.url, "");
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
