"""What it costs to classify capabilities: real documents where they are, and one of 500 kB."""

import time
from pathlib import Path

from bench.report import Row

OGC = Path(__file__).parents[2] / "shared" / "data" / "ogc"
ROUNDS = 15
GOAL_MS = 20.0


def main() -> list[Row]:
    from hemeroteca.geo.detection import describe

    layer = (
        '<Layer queryable="1"><Name>n{0}</Name><Title>Layer {0}</Title><Abstract>{1}</Abstract><KeywordList><Keyword>a'
        "</Keyword><Keyword>b</Keyword></KeywordList><CRS>EPSG:4326</CRS><CRS>EPSG:25830</CRS><EX_GeographicBoundingBox>"
        "<westBoundLongitude>-9</westBoundLongitude><eastBoundLongitude>4</eastBoundLongitude><southBoundLatitude>36"
        "</southBoundLatitude><northBoundLatitude>44</northBoundLatitude></EX_GeographicBoundingBox><Style><Name>s</Name>"
        "</Style></Layer>"
    )
    layers = "".join(layer.format(number, "words about it " * 40) for number in range(430))
    made = (
        '<WMS_Capabilities xmlns="http://www.opengis.net/wms" version="1.3.0"><Service><Name>WMS</Name></Service>'
        f"<Capability><Layer><Title>all</Title>{layers}</Layer></Capability></WMS_Capabilities>"
    ).encode()
    bodies = {f"a WMS of {len(made) // 1000} kB, 430 layers": made}
    for path in sorted(OGC.glob("*.xml")):
        if path.stat().st_size > 400_000:
            bodies[f"{path.stem}, {path.stat().st_size // 1000} kB"] = path.read_bytes()
    rows = []
    for name, body in bodies.items():
        times = []
        for _ in range(ROUNDS):
            begin = time.process_time()
            describe(body)
            times.append((time.process_time() - begin) * 1000)
        per_500 = sorted(times)[ROUNDS // 2] * 500_000 / len(body)
        verdict = "reached" if per_500 <= GOAL_MS else "not reached"
        rows.append(Row(f"classify {name}: CPU per 500 kB", f"{per_500:.1f} ms", f"≤ {GOAL_MS:.0f} ms", verdict))
    return rows
