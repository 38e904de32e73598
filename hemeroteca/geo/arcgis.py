"""ArcGIS REST: folders, services and layers, as their JSON says."""

import re
from typing import Any
from urllib.parse import urlsplit

from hemeroteca.geo import endpoints, places
from hemeroteca.geo.description import (
    MAX_KEYWORDS,
    MAX_LAYERS,
    MAX_TEXT,
    BBox,
    Contact,
    Description,
    FoundLayer,
    none,
)
from hemeroteca.geo.json_members import MAX_LINKS, Json, day_of, list_of, object_of, text_of, without_tags
from hemeroteca.geo.licences import licence

_PATH = re.compile(
    r"^(.*?/rest/services(?:/.*?/(Map|Feature|Image|Geocode|GP|Geometry|VectorTile|Scene|Globe|NA|GeoData|Mobile|Stream|"
    r"Video|Version|Parcel|UtilityNetwork)Server)?)(/.*)?$",
    re.I,
)


def read(data: Json, url: str) -> Description | None:
    error = data.get("error")
    if isinstance(error, dict) and isinstance(error.get("code"), int) and "message" in error:
        return none(f"exception report: {error['code']}: {str(error['message'])[:300]}")
    version = data.get("currentVersion")
    given = str(version) if isinstance(version, (int, float, str)) else ""
    services = data.get("services")
    if given and isinstance(services, list) and ("folders" in data or all(isinstance(one, dict) for one in services)):
        return _folder(data, url, given)
    layers = data.get("layers")
    is_service = bool(given) and (
        "serviceDescription" in data
        or "mapName" in data
        or "tileInfo" in data
        or "bandCount" in data
        or "pixelSizeX" in data
        or "serviceDataType" in data
        or "addressFields" in data
        or "executionType" in data
        or ("tasks" in data and isinstance(data["tasks"], list))
        or ("capabilities" in data and isinstance(layers, list))
    )
    is_service = is_service or (
        "serviceDescription" in data and isinstance(layers, list) and "spatialReference" in data
    )
    scene = (
        "serviceVersion" in data
        and isinstance(layers, list)
        and any(isinstance(one, dict) and "layerType" in one for one in layers)
    )
    if is_service or ("serviceName" in data and ("supportedBindings" in data or scene)):
        return _service(data, url, given)
    if (
        isinstance(data.get("id"), int)
        and "Layer" in text_of(data, "type")
        and ("geometryType" in data or "extent" in data)
    ):
        return _service(data, url, given)
    return None


def _folder(data: Json, url: str, version: str) -> Description:
    base = _base(url)
    found = Description(
        type="arcgis", version=version, title="ArcGIS REST services", endpoint=base, software=f"ArcGIS Server {version}"
    )
    path = urlsplit(base).path.lower()
    root = base[: base.lower().rindex("/rest/services") + len("/rest/services")] if "/rest/services" in path else base
    for one in list_of(data, "services")[:MAX_LAYERS]:
        if isinstance(one, dict) and (name := text_of(one, "name")) and (kind := text_of(one, "type")):
            address = text_of(one, "url") or (f"{root}/{name}/{kind}" if root else "")
            found.layers.append(FoundLayer(name=name, title=f"{name} ({kind})", url=address, formats=[kind]))
            if address:
                found.links.append(address + "?f=json")
    for folder in list_of(data, "folders")[:MAX_LINKS]:
        if isinstance(folder, str) and root:
            found.links.append(f"{root}/{folder}?f=json")
    del found.links[MAX_LINKS:]
    return found


def _service(data: Json, url: str, version: str) -> Description:
    information = object_of(data, "documentInfo")
    title = (
        text_of(information, "Title")
        or text_of(data, "mapName")
        or text_of(data, "name")
        or text_of(data, "serviceName")
    )
    if title in ("", "Layers") and (match := re.search(r"/services/(.+?)/\w+Server", url)):
        title = match[1].replace("_", " ")
    author = text_of(information, "Author")
    words = re.split(r"[,;]", text_of(information, "Keywords"))
    extent = data.get("fullExtent") or data.get("initialExtent") or data.get("extent")
    system = _spatial_reference(data.get("spatialReference") or object_of(data, "extent").get("spatialReference"))
    found = Description(
        type="arcgis",
        version=version,
        title=title[:1000],
        abstract=without_tags(text_of(data, "serviceDescription") or text_of(data, "description"))[:MAX_TEXT],
        keywords=[" ".join(word.split()) for word in words if word.strip()][:MAX_KEYWORDS],
        endpoint=_base(url),
        bbox=_esri_box(extent, system),
        crs=[system] if system else [],
        provider=author[:500],
        contact=Contact(organisation=author[:500]) if author else None,
        constraints=without_tags(text_of(data, "copyrightText"))[:MAX_TEXT],
        software=f"ArcGIS Server {version}".strip(),
        formats=[
            one.strip()
            for name in ("supportedImageFormatTypes", "supportedQueryFormats")
            for one in text_of(data, name).split(",")
            if one.strip()
        ],
        operations=[one.strip() for one in text_of(data, "capabilities").split(",") if one.strip()],
    )
    found.licence = licence(found.constraints)
    time = object_of(data, "timeInfo").get("timeExtent")
    if isinstance(time, list) and len(time) == 2:
        found.temporal = (day_of(time[0]), day_of(time[1]))
    for one in [*list_of(data, "layers"), *list_of(data, "tables")][:MAX_LAYERS]:
        if isinstance(one, dict) and "id" in one:
            name = str(one.get("id"))
            found.layers.append(
                FoundLayer(
                    name=name,
                    title=text_of(one, "name")[:1000],
                    url=f"{found.endpoint}/{name}" if found.endpoint else "",
                )
            )
    if "Layer" in text_of(data, "type") and isinstance(data.get("id"), int):
        found.layers = [FoundLayer(name=str(data["id"]), title=text_of(data, "name"), bbox=found.bbox, crs=found.crs)]
    for one in list_of(data, "tasks")[:1000]:
        if isinstance(one, str):
            found.layers.append(FoundLayer(name=one))
    extensions = text_of(data, "supportedExtensions").lower()
    for name, kind in (("wmsserver", "WMS"), ("wfsserver", "WFS"), ("wcsserver", "WCS")):
        if name in extensions and "/rest/services/" in found.endpoint:
            base = found.endpoint.replace("/rest/services/", "/services/", 1)
            found.links.append(f"{base}/{kind}Server?request=GetCapabilities&service={kind}")
    return found


def _base(url: str) -> str:
    address = endpoints.endpoint_or_empty(url)
    match = _PATH.match(address.partition("?")[0])
    if match is None:
        return address
    return (match[1] if match[2] else address.partition("?")[0]).rstrip("/")


def _spatial_reference(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    code = value.get("latestWkid") or value.get("wkid")
    return {102100: "EPSG:3857", 102113: "EPSG:3857"}.get(code, f"EPSG:{code}") if isinstance(code, int) else ""


def _esri_box(extent: Any, system: str) -> BBox | None:
    if not isinstance(extent, dict):
        return None
    system = _spatial_reference(extent.get("spatialReference")) or system
    sides = [places.number(extent.get(name)) for name in ("xmin", "ymin", "xmax", "ymax")]
    west, south, east, north = sides
    if west is None or south is None or east is None or north is None:
        return None
    if system in ("EPSG:3857", "EPSG:900913"):
        return places.from_mercator(west, south, east, north)
    return places.box(west, south, east, north) if places.is_geographic(system) else None
