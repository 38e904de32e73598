"""Geographic services and datasets: recognised in what crawls fetch, kept in a catalogue, watched, and found again.

The pure part, which runs in the ingest processes and knows no database:

description  what a document says of a service: type, version, layers, extent, contact; the closed list of types
detection    `describe(body)`: which of the types a document is, or the reason why it is none
ows_types    which service a capabilities document is of (WMS, WFS, WCS, WMTS, WPS, CSW, SOS, WCTS, TMS)
ows          what it says of it;  atom: what feeds say;  apis, arcgis: what JSON says, by its json_members
datasets     files of data: GeoPackage, GeoTIFF, shapefile, KML, PMTiles, FlatGeobuf, GeoParquet, GeoJSON
places       bounding boxes and names of coordinate systems;  licences: what fees and constraints mean
endpoints    from a link to the service: normalised addresses, what to ask there, what scripts give away
reader       the reader registered in `extract`: it puts a find named "service" into what was read
xmltree      XML as servers really send it, made into a tree;  directories: HTML pages of ArcGIS

The catalogue, with tables:

sink         what takes finds in the engine, and decides what is asked next;  visit_orders: addresses that people name
services     the only writer of the tables;  queries: search, statistics;  models: the tables
concepts     keywords as concepts of thesauri
catalogue_filters  what catalogue clients ask for (Filter Encoding, CQL) as conditions
records      entries as others read them (ISO 19139, GeoDCAT-AP, …);  catalogue_files: CSV, GeoJSON, GeoPackage
harvest      catalogues of others;  health: whether services work;  job_kinds: both as long work
"""
