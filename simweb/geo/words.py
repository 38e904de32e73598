# ruff: noqa: E501  tables of words
"""Words of the geographic corner, in Spanish and English."""

from typing import NamedTuple


class Words(NamedTuple):
    hosts: dict[str, tuple[str, str]]  # kind of host → first part of its name, beginning of its title
    sections: dict[str, tuple[str, str]]  # kind of section → path, title
    titles: dict[str, tuple[str, ...]]  # kind of section → titles of items
    subjects: tuple[str, ...]
    datasets: tuple[str, ...]
    details: tuple[str, ...]
    places: tuple[str, ...]
    trades: dict[str, tuple[str, ...]]  # kind of host → sentences of its trade
    of: str
    record: str
    abstract: str
    resources: str
    related: str
    friends: str
    home: str
    footer: str
    plain: tuple[str, ...]  # anchors of links to services, by quality
    endpoint: tuple[str, ...]
    opaque: tuple[str, ...]
    lead_ins: tuple[str, ...]
    downloads: tuple[str, ...]


SPANISH = Words(
    hosts={
        "sdi": ("ide", "Infraestructura de Datos Espaciales de"), "agency": ("agencia", "Agencia de Medio Ambiente de"),
        "council": ("ayuntamiento", "Ayuntamiento de"), "university": ("universidad", "Universidad de"),
        "server": ("mapas", "Servidor de mapas de"), "tourism": ("turismo", "Turismo de"),
        "company": ("soluciones", "Soluciones Informáticas"), "shop": ("tienda", "Tienda"),
        "newspaper": ("diario", "Diario de"), "blog": ("bitacora", "Bitácora de"),
    },
    sections={
        "news": ("noticias", "Noticias"), "catalogue": ("catalogo", "Catálogo de datos"), "services": ("servicios", "Servicios"),
        "standards": ("normativa", "Normativa"), "training": ("formacion", "Formación"), "reports": ("informes", "Publicaciones"),
        "mapping": ("cartografia", "Cartografía"), "procedures": ("tramites", "Trámites y servicios"), "council": ("concejalias", "El ayuntamiento"),
        "planning": ("urbanismo", "Urbanismo"), "courses": ("asignaturas", "Asignaturas"), "research": ("investigacion", "Investigación"),
        "layers": ("capas", "Capas"), "manual": ("ayuda", "Ayuda"), "routes": ("rutas", "Rutas y mapas"), "solutions": ("soluciones", "Soluciones"),
        "products": ("productos", "Productos"), "help": ("atencion", "Atención al cliente"), "sport": ("deportes", "Deportes"),
        "culture": ("cultura", "Cultura"), "posts": ("entradas", "Entradas"),
    },
    titles={
        "standards": ("Norma ISO 19128 sobre WMS y {subject}", "Directiva INSPIRE: reglas de {subject}", "Decreto sobre {subject} en {place}", "Guía de metadatos para {subject}"),
        "training": ("Curso de servicios web OGC y {subject}", "Qué es un WMS: {subject}", "Taller de QGIS en {place}", "Cómo usar GetCapabilities con {subject}"),
        "services": ("Servicios web para {subject}", "Nuestros servicios de {subject}", "Servicio de mantenimiento en {place}", "Web services y capabilities para {subject}"),
        "solutions": ("Gestión de almacén WMS para {subject}", "WPS Office en {place}", "Procesadores Atom para {subject}", "Integración de servicios web de {subject}"),
        "products": ("Mapa de carreteras de {place}", "GPS para {subject}", "Atlas ilustrado de {subject}", "Impresora WPS para {subject}", "Zapatillas de montaña {place}"),
        "procedures": ("Carta de servicios de {subject}", "Servicios municipales de {subject}", "Solicitud sobre {subject}", "Tasa por servicios de {subject}"),
        "routes": ("Mapa de la ruta de {place}: {subject}", "Senderos de {place} y {subject}", "Cartografía para caminantes de {place}"),
        "manual": ("Manual del servidor WMS: {subject}", "Preguntas sobre capabilities y {subject}", "Cómo pedir {subject}"),
        "reports": ("Informe sobre {subject} en {place}", "Estadística de {subject}", "Mapa y estado de {subject} en {place}"),
    },
    subjects=("la calidad del aire", "los ríos y embalses", "el ruido", "los residuos", "la vivienda", "el transporte", "la energía", "el agua potable", "los incendios forestales", "la agricultura", "el turismo", "la costa", "el clima", "la biodiversidad", "las aguas subterráneas", "los parques", "la educación", "la sanidad"),
    datasets=("Red hidrográfica", "Ortofoto", "Mapa topográfico", "Ocupación del suelo", "Parcelas catastrales", "Límites municipales", "Espacios protegidos", "Mapa geológico", "Modelo digital del terreno", "Zonas inundables", "Callejero", "Planeamiento urbanístico", "Mapa de ruido", "Mapa forestal", "Redes de transporte", "Nomenclátor", "Calidad del aire", "Masas de agua", "Edificios", "Secciones censales", "Mapa de suelos", "Batimetría", "Vías pecuarias", "Curvas de nivel", "Estaciones de aforo", "Equipamientos"),
    details=("", " 1:25.000", " 1:50.000", " 2018", " 2021", " 2023", " (histórico)", " actualizado", " por municipios"),
    places=("Madrid", "Zaragoza", "Teruel", "Huesca", "Sevilla", "Cádiz", "Mérida", "Cuenca", "Ávila", "Soria", "Lugo", "Vigo", "Murcia", "Toledo", "Burgos", "La Rioja", "Jaén", "Gerona", "Mahón", "Tenerife", "Palencia", "Ceuta", "Elche", "Gijón"),
    trades={
        "sdi": ("La infraestructura de datos espaciales reúne servicios y metadatos de {place}.", "El geoportal ofrece un visor de mapas y un catálogo de metadatos.", "Los servicios de visualización cumplen la directiva INSPIRE.", "La interoperabilidad permite usar {subject} en un sistema de información geográfica."),
        "agency": ("La agencia mide {subject} en {place}.", "Los datos de {subject} se publican cada año.", "La cartografía ambiental muestra {subject}.", "La red de control vigila {subject}."),
        "council": ("El pleno debatió {subject} en {place}.", "Los servicios municipales atienden {subject}.", "El plan general de ordenación cambia {subject}."),
        "university": ("El departamento de geografía estudia {subject}.", "Un grupo de teledetección trabaja con imágenes de satélite de {place}.", "La tesis trata de {subject}."),
        "server": ("Servidor GeoServer con capas de {place}.", "Cada capa se ofrece en varios sistemas de referencia de coordenadas.", "Los servicios OGC publican {subject}."),
        "tourism": ("El mapa de senderos de {place} está en la oficina de turismo.", "La ruta cruza el río y sube a la montaña.", "Descubra {subject} y los miradores."),
        "company": ("Nuestros servicios web integran {subject} con su almacén WMS.", "Conozca nuestras capabilities y servicios en la nube.", "Ofrecemos servicios de soporte en {place}."),
        "shop": ("Mapas, guías y GPS al mejor precio.", "Envío gratis a {place}.", "Un atlas sobre {subject}."),
        "blog": ("Ayer leí sobre {subject}.", "Un paseo por {place} con un mapa viejo."),
    },
    of="de",
    record="Conjunto de datos: {title}. Organismo responsable: {provider}. Sistema de referencia ETRS89.",
    abstract="{title}, publicado por {provider}.",
    resources="Recursos", related="Relacionado", friends="Enlaces de interés", home="Inicio",
    footer='<a href="/aviso">Aviso legal</a> · <a href="/mapa-web">Mapa web</a>',
    plain=("GetCapabilities", "Capabilities del servicio {short}", "{short}", "Servicio {short} de {title}", "URL del servicio {short}"),
    endpoint=("Servicio de visualización", "Servicio web", "Conectar", "URL del servicio", "{title}", "Servicio {short}"),
    opaque=("aquí", "Enlace", "Ver", "XML", "Acceder", "Más información"),
    lead_ins=("Servicio web de mapas:", "También disponible como servicio en", "Para usarlo en QGIS pulse", "Dirección del servicio:"),
    downloads=("Descargar", "Descarga de datos", "Descargar fichero", "Metadatos", "Documento"),
)  # fmt: skip

ENGLISH = Words(
    hosts={
        "sdi": ("sdi", "Spatial Data Infrastructure of"), "agency": ("agency", "Environment Agency of"),
        "council": ("council", "City Council of"), "university": ("university", "University of"),
        "server": ("maps", "Map server of"), "tourism": ("visit", "Visit"), "company": ("solutions", "Software Solutions"),
        "shop": ("shop", "Shop"), "newspaper": ("gazette", "The Gazette of"), "blog": ("notes", "Notes from"),
    },
    sections={
        "news": ("news", "News"), "catalogue": ("catalogue", "Data catalogue"), "services": ("services", "Services"),
        "standards": ("standards", "Standards"), "training": ("training", "Training"), "reports": ("reports", "Publications"),
        "mapping": ("mapping", "Mapping"), "procedures": ("procedures", "Permits and services"), "council": ("departments", "Your council"),
        "planning": ("planning", "Planning"), "courses": ("courses", "Courses"), "research": ("research", "Research"),
        "layers": ("layers", "Layers"), "manual": ("manual", "Help"), "routes": ("walks", "Walks and maps"), "solutions": ("solutions", "Solutions"),
        "products": ("products", "Products"), "help": ("support", "Customer care"), "sport": ("sport", "Sport"),
        "culture": ("culture", "Culture"), "posts": ("posts", "Posts"),
    },
    titles={
        "standards": ("ISO 19128, WMS and {subject}", "INSPIRE directive: rules for {subject}", "Regulation on {subject} in {place}", "Metadata guide for {subject}"),
        "training": ("Course on OGC web services and {subject}", "What is a WMS: {subject}", "QGIS workshop in {place}", "How to use GetCapabilities with {subject}"),
        "services": ("Web services for {subject}", "Our services for {subject}", "Maintenance service in {place}", "Capabilities and web services for {subject}"),
        "solutions": ("Warehouse WMS for {subject}", "WPS Office in {place}", "Atom processors for {subject}", "Web services for {subject}"),
        "products": ("Road map of {place}", "GPS for {subject}", "Illustrated atlas of {subject}", "WPS printer for {subject}", "Mountain boots {place}"),
        "procedures": ("Service charter of {subject}", "Municipal services for {subject}", "Application about {subject}", "Fees for services of {subject}"),
        "routes": ("Map of the walk of {place}: {subject}", "Paths of {place} and {subject}", "Maps for walkers in {place}"),
        "manual": ("Manual of the WMS server: {subject}", "Questions about capabilities and {subject}", "How to ask for {subject}"),
        "reports": ("Report on {subject} in {place}", "Statistics of {subject}", "Map and state of {subject} in {place}"),
    },
    subjects=("air quality", "rivers and reservoirs", "noise", "waste", "housing", "transport", "energy", "drinking water", "forest fires", "farming", "tourism", "the coast", "the climate", "biodiversity", "groundwater", "parks", "education", "health"),
    datasets=("River network", "Orthophoto", "Topographic map", "Land cover", "Cadastral parcels", "Administrative boundaries", "Protected sites", "Geological map", "Digital terrain model", "Flood risk zones", "Street map", "Urban planning", "Noise map", "Forest map", "Transport networks", "Gazetteer", "Air quality", "Water bodies", "Buildings", "Census tracts", "Soil map", "Bathymetry", "Rights of way", "Contour lines", "Gauging stations", "Public facilities"),
    details=("", " 1:25,000", " 1:50,000", " 2018", " 2021", " 2023", " (historical)", " updated", " by district"),
    places=("Bristol", "Leeds", "Cardiff", "Norwich", "Galway", "Durham", "Perth", "Exeter", "Whitby", "Lincoln", "Bath", "York", "Dundee", "Cork", "Truro", "Wells", "Ripon", "Stirling", "Bangor", "Derry", "Oxford", "Kendal", "Dover", "Ely"),
    trades={
        "sdi": ("The spatial data infrastructure brings services and metadata of {place} together.", "The geoportal has a map viewer and a metadata catalogue.", "View services follow the INSPIRE directive.", "Interoperability lets {subject} be used in a geographic information system."),
        "agency": ("The agency measures {subject} in {place}.", "Data on {subject} are published every year.", "Environmental maps show {subject}.", "The monitoring network watches {subject}."),
        "council": ("The council debated {subject} in {place}.", "Municipal services look after {subject}.", "The general plan changes {subject}."),
        "university": ("The department of geography studies {subject}.", "A remote sensing group works with satellite imagery of {place}.", "The thesis is about {subject}."),
        "server": ("GeoServer with layers of {place}.", "Each layer comes in several coordinate reference systems.", "OGC services publish {subject}."),
        "tourism": ("The map of the paths of {place} is at the tourist office.", "The walk crosses the river and climbs the mountain.", "Discover {subject} and the views."),
        "company": ("Our web services connect {subject} with your warehouse WMS.", "See our capabilities and cloud services.", "We offer support services in {place}."),
        "shop": ("Maps, guides and GPS at the best price.", "Free delivery to {place}.", "An atlas of {subject}."),
        "blog": ("Yesterday I read about {subject}.", "A walk through {place} with an old map."),
    },
    of="of",
    record="Data set: {title}. Responsible organisation: {provider}. Reference system ETRS89.",
    abstract="{title}, published by {provider}.",
    resources="Resources", related="Related", friends="Links", home="Home",
    footer='<a href="/legal">Legal notice</a> · <a href="/sitemap">Site map</a>',
    plain=("GetCapabilities", "{short} capabilities", "{short}", "{short} service of {title}", "URL of the {short} service"),
    endpoint=("View service", "Web service", "Connect", "Service URL", "{title}", "{short} service"),
    opaque=("here", "Link", "View", "XML", "Open", "More information"),
    lead_ins=("Web map service:", "Also available as a service at", "To use it in QGIS press", "Address of the service:"),
    downloads=("Download", "Data download", "Download file", "Metadata", "Document"),
)  # fmt: skip

WORDS = {"es": SPANISH, "en": ENGLISH}
