// Inside the frame of the element picker: shows which element the pointer is on, and tells the console what was clicked.
// The page around it is archived and has no scripts of its own; this one reads the page and sends names of elements.
(function () {
  "use strict";
  var style = document.createElement("style");
  style.textContent =
    "* { cursor: crosshair !important; }" +
    "[data-hm-at] { outline: 2px dashed #0b63ce !important; outline-offset: 1px !important; }" +
    "[data-hm-keep] { outline: 3px solid #18794e !important; outline-offset: 1px !important; }" +
    "[data-hm-ignore] { outline: 3px solid #b42318 !important; outline-offset: 1px !important; opacity: .45 !important; }" +
    "[data-hm-picked] { outline: 3px solid #0b63ce !important; outline-offset: 1px !important; background-color: rgba(11, 99, 206, .15) !important; }";
  document.head.appendChild(style);
  var picked = null;
  var NAME = /^[A-Za-z_][\w-]*$/;

  function alone(selector) { return document.querySelectorAll(selector).length === 1; }

  // The shortest name that means this element only: its id, its tag and classes, or its place below one that has such.
  function nameOf(element) {
    if (NAME.test(element.id) && alone("#" + element.id)) return "#" + element.id;
    var tag = element.localName;
    var classes = Array.from(element.classList).filter(function (name) { return NAME.test(name); }).slice(0, 2);
    var own = [tag].concat(classes).join(".");
    if (alone(own)) return own;
    var parent = element.parentElement;
    if (!parent || element === document.body) return tag;
    var place = 1;
    for (var other = element.previousElementSibling; other; other = other.previousElementSibling) {
      if (other.localName === tag) place += 1;
    }
    return nameOf(parent) + " > " + tag + ":nth-of-type(" + place + ")";
  }

  function only(attribute, element) {
    document.querySelectorAll("[" + attribute + "]").forEach(function (one) { one.removeAttribute(attribute); });
    if (element) element.setAttribute(attribute, "");
  }

  function pick(element) {
    if (!element || element === document.documentElement) return;
    picked = element;
    only("data-hm-picked", element);
    only("data-hm-at", null);
    parent.postMessage({ picked: nameOf(element), text: element.textContent.replace(/\s+/g, " ").trim().slice(0, 120) }, "*");
  }

  document.addEventListener("mouseover", function (event) { only("data-hm-at", event.target); });
  document.addEventListener("mouseout", function () { only("data-hm-at", null); });
  document.addEventListener("click", function (event) {
    event.preventDefault();
    event.stopPropagation();
    pick(event.target);
  }, true);
  document.addEventListener("submit", function (event) { event.preventDefault(); }, true);

  window.addEventListener("message", function (event) {
    if (event.source !== parent || !event.data) return;
    if (event.data.wider && picked && picked.parentElement) pick(picked.parentElement);
    if (!event.data.marks) return;
    ["keep", "ignore"].forEach(function (kind) {
      only("data-hm-" + kind, null);
      event.data.marks[kind].forEach(function (selector) {
        try {
          document.querySelectorAll(selector).forEach(function (one) { one.setAttribute("data-hm-" + kind, ""); });
        } catch (error) { /* XPath, or a name this page cannot read */ }
      });
    });
  });
  parent.postMessage({ ready: true }, "*");
})();
