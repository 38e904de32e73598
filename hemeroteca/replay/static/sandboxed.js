// Stands before pywb's script. In a page with an origin of its own, some properties throw when they are only looked at,
// and that script looks at them all: there they are as if the browser had none.
(function () {
  "use strict";
  function guard(holder, name, give) {
    try { void (holder === Document.prototype ? document : holder === Window.prototype ? window : navigator)[name]; }
    catch (error) { give ? Object.defineProperty(holder, name, { configurable: true, get: give, set: function () {} }) : delete holder[name]; }
  }
  function storage() {
    var kept = new Map();
    return {
      getItem: function (name) { return kept.has(String(name)) ? kept.get(String(name)) : null; },
      setItem: function (name, text) { kept.set(String(name), String(text)); },
      removeItem: function (name) { kept.delete(String(name)); },
      clear: function () { kept.clear(); },
      key: function (number) { return Array.from(kept.keys())[number] || null; },
      get length() { return kept.size; }
    };
  }
  var local = storage(), session = storage(), cookies = "";
  guard(Navigator.prototype, "serviceWorker");
  guard(Document.prototype, "cookie", function () { return cookies; });
  ["localStorage", "sessionStorage"].forEach(function (name, number) {
    try { void window[name]; } catch (error) {
      Object.defineProperty(window, name, { configurable: true, get: function () { return number ? session : local; } });
    }
  });
})();
