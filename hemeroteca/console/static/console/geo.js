// Maps of geographic services: boxes, clusters where they are too small, and a box to search in drawn by hand.
// The ground is a coast line and a grid of our own; nothing is fetched from elsewhere.
(function () {
  "use strict";
  var L = window.L;  // ours from here on: the library of the charts has a name like it
  var CELL = 72, SMALL = 14;  // px: side of a cell of clusters; boxes below that are shown as points
  function colour(name) {
    return "var(--" + name + ")";  // paper is light
  }
  function ground(map, address) {
    var grid = [], step;
    for (step = -180; step <= 180; step += 30) grid.push([[-85, step], [85, step]]);
    for (step = -60; step <= 60; step += 30) grid.push([[step, -180], [step, 180]]);
    L.polyline(grid, { color: colour("line"), weight: 1, interactive: false }).addTo(map);
    fetch(address).then(function (answer) { return answer.json(); }).then(function (lines) {
      var coast = lines.map(function (line) {
        var points = [];
        for (var at = 0; at < line.length; at += 2) points.push([line[at + 1] / 10, line[at] / 10]);
        return points;
      });
      L.polyline(coast, { color: colour("dim"), weight: 1, interactive: false }).addTo(map);
      map.getContainer().setAttribute("data-drawn", "");
    });
  }
  function rectangle(box) {
    var east = box[2] < box[0] ? box[2] + 360 : box[2];
    return L.latLngBounds([box[1], box[0]], [box[3], east]);
  }
  function show(map, entries, layer) {
    layer.clearLayers();
    var cells = {};
    entries.forEach(function (entry) {
      var bounds = rectangle(entry.bbox);
      var corner = map.latLngToContainerPoint(bounds.getNorthWest()), other = map.latLngToContainerPoint(bounds.getSouthEast());
      if (other.x - corner.x >= SMALL && other.y - corner.y >= SMALL && entries.length <= 200) {
        L.rectangle(bounds, { color: colour("accent"), weight: 1.5, fillOpacity: 0.05 })
          .bindTooltip(text(entry)).on("click", function () { if (entry.url) location.href = entry.url; }).addTo(layer);
        return;
      }
      var centre = map.latLngToContainerPoint(bounds.getCenter());
      var name = Math.floor(centre.x / CELL) + " " + Math.floor(centre.y / CELL);
      (cells[name] = cells[name] || []).push({ entry: entry, at: bounds.getCenter(), bounds: bounds });
    });
    Object.keys(cells).forEach(function (name) {
      var found = cells[name], many = found.length;
      var middle = found.reduce(function (sum, one) { return [sum[0] + one.at.lat / many, sum[1] + one.at.lng / many]; }, [0, 0]);
      var marker = L.circleMarker(middle, {
        radius: many > 1 ? Math.min(22, 9 + 2 * Math.log(many)) : 6, color: colour("accent"), fillColor: colour("accent"), fillOpacity: 0.85, weight: 1
      });
      if (many === 1) {
        marker.bindTooltip(text(found[0].entry)).on("click", function () { if (found[0].entry.url) location.href = found[0].entry.url; });
      } else {
        marker.bindTooltip(String(many), { permanent: true, direction: "center", className: "cluster" });
        marker.on("click", function () {
          map.fitBounds(found.reduce(function (all, one) { return all.extend(one.bounds); }, L.latLngBounds(found[0].bounds)), { maxZoom: map.getZoom() + 3 });
        });
      }
      marker.addTo(layer);
    });
  }
  function text(entry) {
    var span = document.createElement("span");
    span.textContent = entry.title + (entry.type ? " · " + entry.type : "");
    return span;
  }
  function round(value) { return Math.round(value * 1000) / 1000; }
  function search(map, bounds) {
    var form = document.getElementById("geo-search");
    var west = Math.max(-180, bounds.getWest()), east = Math.min(180, bounds.getEast());
    form.elements.bbox.value = [west, Math.max(-90, bounds.getSouth()), east, Math.min(90, bounds.getNorth())].map(round).join(",");
    form.requestSubmit();
  }
  function drawing(map, button) {
    var from = null, drawn = null, box = map.getContainer();
    function done() {
      from = null;
      map.dragging.enable();
      box.classList.remove("drawing");
      button.setAttribute("aria-pressed", "false");
    }
    button.addEventListener("click", function () {
      if (button.getAttribute("aria-pressed") === "true") return done();
      button.setAttribute("aria-pressed", "true");
      box.classList.add("drawing");
      map.dragging.disable();
    });
    box.addEventListener("pointerdown", function (event) {
      if (button.getAttribute("aria-pressed") !== "true") return;
      event.preventDefault();
      box.setPointerCapture(event.pointerId);  // it may end outside
      from = map.mouseEventToLatLng(event);
    });
    box.addEventListener("pointermove", function (event) {
      if (!from) return;
      if (drawn) drawn.remove();
      drawn = L.rectangle(L.latLngBounds(from, map.mouseEventToLatLng(event)), { color: colour("link"), weight: 2, dashArray: "4 4", interactive: false }).addTo(map);
    });
    box.addEventListener("pointerup", function (event) {
      if (!from) return;
      var bounds = L.latLngBounds(from, map.mouseEventToLatLng(event));
      done();
      if (bounds.getEast() > bounds.getWest() && bounds.getNorth() > bounds.getSouth()) search(map, bounds);
    });
  }
  function begin(place) {
    var entries = JSON.parse(document.getElementById(place.getAttribute("data-boxes")).textContent);
    var map = L.map(place, { crs: L.CRS.EPSG3857, minZoom: 1, maxZoom: 12, attributionControl: false, worldCopyJump: false, zoomSnap: 0.5, fadeAnimation: false });
    var layer = L.layerGroup().addTo(map), asked = place.getAttribute("data-asked");
    ground(map, place.getAttribute("data-coast"));
    var all = asked ? rectangle(asked.split(",").map(Number)) : null;
    if (asked) L.rectangle(all, { color: colour("link"), weight: 2, dashArray: "4 4", fill: false, interactive: false }).addTo(map);
    else entries.forEach(function (entry) { all = all ? all.extend(rectangle(entry.bbox)) : L.latLngBounds(rectangle(entry.bbox)); });
    if (all) map.fitBounds(all, { maxZoom: 6, padding: [12, 12] });
    else map.setView([25, 0], 1);
    show(map, entries, layer);
    map.on("zoomend", function () { show(map, entries, layer); });
    var draw = document.getElementById("draw-box"), view = document.getElementById("search-view");
    if (draw) drawing(map, draw);
    if (view) view.addEventListener("click", function () { search(map, map.getBounds()); });
  }
  function each(root) { root.querySelectorAll(".map[data-boxes]").forEach(begin); }
  each(document);
  document.addEventListener("htmx:afterSwap", function (event) { each(event.target); });
})();
