// Draws every figure.chart of a page with Vega-Lite: colours from the style sheet, numbers and months as the page's
// language writes them. Expressions are interpreted, never compiled: the policy of the console forbids it.
(function () {
  "use strict";
  var SPANISH_NUMBERS = { decimal: ",", thousands: ".", grouping: [3], currency: ["", " €"] };
  var SPANISH_TIMES = {
    dateTime: "%A, %e de %B de %Y, %X", date: "%d/%m/%Y", time: "%H:%M:%S", periods: ["AM", "PM"],
    days: ["domingo", "lunes", "martes", "miércoles", "jueves", "viernes", "sábado"],
    shortDays: ["dom", "lun", "mar", "mié", "jue", "vie", "sáb"],
    months: ["enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"],
    shortMonths: ["ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sep", "oct", "nov", "dic"]
  };
  // a name, not its value: paper is light, and whoever changes the look of the page need not have it drawn again
  function colour(name) {
    return "var(--" + name + ")";
  }
  function look() {
    var ink = colour("ink"), dim = colour("dim"), line = colour("line"), accent = colour("accent");
    return {
      background: "transparent",
      font: getComputedStyle(document.body).fontFamily,
      view: { stroke: "transparent" },
      axis: { labelColor: dim, titleColor: dim, gridColor: line, domainColor: line, tickColor: line, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" },
      axisX: { grid: false, labelOverlap: true },
      legend: { labelColor: ink, titleColor: dim, labelFontSize: 12, titleFontWeight: "normal", orient: "bottom", columns: window.innerWidth < 640 ? 1 : undefined, labelLimit: 240 },
      title: { color: ink },
      mark: { color: accent },
      bar: { color: accent }, line: { color: accent, strokeWidth: 2 }, point: { color: accent, filled: true }, area: { color: accent, opacity: 0.5 },
      range: { category: [accent, colour("link"), colour("good"), colour("warn"), dim, "#7b5ea7", "#3b8a8c"] }
    };
  }
  function draw(figure, spec) {
    var plot = figure.querySelector(".plot"), spanish = document.documentElement.lang === "es";
    var config = Object.assign(look(), { timeFormat: spanish ? "%-d %b %Y" : "%b %-d, %Y" }, spec.config || {});
    var shown = Object.assign({ width: "container", height: 220, autosize: { type: "fit", contains: "padding" } }, spec, { config: config });
    shown.description = figure.querySelector("figcaption").textContent;
    dated(shown, spanish);
    delete shown.title;  // the caption says it
    delete shown.$schema;  // ours is newer, and reads the older one
    window.vegaEmbed(plot, shown, {
      mode: "vega-lite", ast: true, actions: false, renderer: "svg", defaultStyle: false,
      tooltip: { disableDefaultStyle: true },
      formatLocale: spanish ? SPANISH_NUMBERS : undefined, timeFormatLocale: spanish ? SPANISH_TIMES : undefined
    }).then(function () { named(plot.querySelector("svg"), shown.description); figure.setAttribute("data-drawn", ""); }, function (error) { plot.textContent = String(error); });
  }
  // one picture with its caption for a name: what the library says of its parts is English, and the figures stand below as a table
  function named(picture, caption) {
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", caption);
    Array.from(picture.children).forEach(function (part) { part.setAttribute("aria-hidden", "true"); });
  }
  var FORMATS = { year: "%Y", yearmonth: ["%b %Y", "%b %Y"], yearmonthdate: ["%b %-d", "%-d %b"] };
  // days and months along an axis, which the library writes the American way: it has no setting for them
  function dated(spec, spanish) {
    (spec.layer || spec.hconcat || spec.vconcat || []).forEach(function (part) { dated(part, spanish); });
    ["x", "y"].forEach(function (name) {
      var channel = (spec.encoding || {})[name], unit = channel && channel.timeUnit;
      var form = typeof unit === "string" && FORMATS[unit.replace(/^utc/, "")];
      if (!form || channel.axis === null || (channel.axis || {}).format) return;
      channel.axis = Object.assign({ format: typeof form === "string" ? form : form[spanish ? 1 : 0] }, channel.axis);
    });
  }
  function each(root) {
    root.querySelectorAll("figure.chart").forEach(function (figure) {
      var source = figure.getAttribute("data-source"), written = figure.querySelector("script[type='application/json']");
      if (source) fetch(source, { headers: { Accept: "application/json" } }).then(function (answer) { return answer.json(); }).then(function (spec) { draw(figure, spec); });
      else if (written) draw(figure, JSON.parse(written.textContent));
    });
  }
  each(document);
  document.addEventListener("htmx:afterSwap", function (event) { each(event.target); });
})();
