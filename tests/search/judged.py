"""Documents, queries with graded answers, and typos, written for the tests (nobody's text is copied)."""
# ruff: noqa: E501


def _document(identifier: str, language: str, title: str, text: str) -> dict[str, str]:
    return {"id": identifier, "url": f"https://{identifier}.test/", "title": title, "text": text, "lang": language}


DOCUMENTS = [
    _document(
        "pan",
        "es",
        "Cómo hacer pan casero",
        "Para hornear pan en casa hacen falta harina, agua, sal y levadura. La masa fermenta dos horas y se hornea a 220 grados hasta que la corteza está dorada.",
    ),
    _document(
        "masa-madre",
        "es",
        "La masa madre",
        "La masa madre es un cultivo de levaduras y bacterias. Se alimenta cada día con harina y agua. Los panes de masa madre se conservan mejor.",
    ),
    _document(
        "horno",
        "es",
        "Reparar un horno",
        "Si el horno eléctrico no calienta, revise la resistencia y el termostato. Desconecte siempre la corriente antes de repararlo.",
    ),
    _document(
        "harina",
        "es",
        "Precio de la harina",
        "El precio de la harina de trigo subió un ocho por ciento este año por la sequía. Los panaderos piden ayudas.",
    ),
    _document(
        "padron",
        "es",
        "Empadronamiento",
        "Para empadronarse en el municipio presente el documento de identidad y el contrato de alquiler. El volante de empadronamiento se obtiene en línea.",
    ),
    _document(
        "alquiler",
        "es",
        "Contratos de alquiler",
        "El contrato de alquiler de vivienda dura cinco años. El propietario debe devolver la fianza en un mes.",
    ),
    _document(
        "impuestos",
        "es",
        "Impuestos municipales",
        "El impuesto sobre vehículos y el impuesto sobre bienes inmuebles se pagan en el ayuntamiento. Hay bonificaciones para familias numerosas.",
    ),
    _document(
        "vehiculos",
        "es",
        "Circulación de vehículos",
        "Se restringe el tráfico de coches en el centro. Los vehículos eléctricos pueden circular sin límite.",
    ),
    _document(
        "golondrinas",
        "es",
        "Las golondrinas",
        "Las golondrinas migran desde África en primavera. Construyen nidos de barro bajo los tejados y comen insectos.",
    ),
    _document(
        "migraciones",
        "es",
        "Migraciones humanas",
        "Las migraciones de personas tienen causas económicas y políticas. La población migrante creció en la última década.",
    ),
    _document(
        "sequia",
        "es",
        "Sequía y embalses",
        "La sequía redujo el agua de los embalses al treinta por ciento. Se limitó el riego en la agricultura.",
    ),
    _document(
        "riego",
        "es",
        "Riego por goteo",
        "El riego por goteo ahorra agua en el huerto. Las tuberías llevan pequeños agujeros junto a cada planta.",
    ),
    _document(
        "huerto",
        "es",
        "Calendario del huerto",
        "En marzo se siembran tomates en semillero; en mayo se trasplantan al huerto. Los tomates necesitan sol y riego.",
    ),
    _document(
        "periodicos",
        "es",
        "Hemeroteca digital",
        "La hemeroteca digital conserva periódicos y revistas antiguos digitalizados. Se pueden consultar por fecha y por título.",
    ),
    _document(
        "biblioteca",
        "es",
        "Biblioteca pública",
        "La biblioteca pública presta libros durante tres semanas. El carné de lector es gratuito.",
    ),
    _document(
        "elecciones",
        "es",
        "Resultados electorales",
        "Las elecciones municipales tuvieron una participación del sesenta por ciento. El partido verde ganó en diez ciudades.",
    ),
    _document(
        "vacunas",
        "es",
        "Vacunación infantil",
        "El calendario de vacunación infantil incluye la vacuna del sarampión. Los niños se vacunan en el centro de salud.",
    ),
    _document(
        "salud",
        "es",
        "Centros de salud",
        "Pida cita en su centro de salud por teléfono. Las urgencias atienden las veinticuatro horas.",
    ),
    _document(
        "bicicleta",
        "es",
        "Cambiar la cadena de la bicicleta",
        "Para cambiar la cadena de una bicicleta hace falta un tronchacadenas. Mida la cadena vieja antes de cortar la nueva.",
    ),
    _document(
        "ruta",
        "es",
        "Rutas en bicicleta",
        "La ruta del río es llana y apta para bicicletas con niños. Tiene veinte kilómetros y fuentes de agua.",
    ),
    _document(
        "gc",
        "en",
        "Garbage collection",
        "The garbage collector frees memory of objects that can no longer be reached. Generational collectors scan young objects more often.",
    ),
    _document(
        "waste",
        "en",
        "Waste collection calendar",
        "Household garbage is collected on Mondays. Glass and paper are collected every second week by the city.",
    ),
    _document(
        "threads",
        "en",
        "Thread pools",
        "A thread pool keeps worker threads ready to run tasks. The pool size should match the number of processors.",
    ),
    _document(
        "swimming",
        "en",
        "Swimming pools",
        "The public swimming pool opens at seven. Children under ten must be accompanied. The pool is heated in winter.",
    ),
    _document(
        "python",
        "en",
        "Sorting lists in Python",
        "Use sorted() to get a new sorted list, or list.sort() to sort in place. A key function chooses what to compare.",
    ),
    _document(
        "snakes", "en", "Keeping pythons", "A python is a large snake that needs a warm terrarium. Feed it once a week."
    ),
    _document(
        "regex",
        "en",
        "Regular expressions",
        "A regular expression describes a set of strings. Quantifiers repeat, groups capture, and anchors match positions.",
    ),
    _document(
        "bread",
        "en",
        "Baking sourdough bread",
        "Sourdough bread rises with wild yeast. Mix flour, water and salt, let the dough rest overnight and bake it in a hot oven.",
    ),
    _document(
        "oven",
        "en",
        "Oven repair",
        "When an electric oven does not heat, test the heating element and the thermostat. Unplug it first.",
    ),
    _document(
        "yeast",
        "en",
        "What is yeast",
        "Yeast is a fungus that ferments sugar into carbon dioxide and alcohol. Bakers and brewers use it.",
    ),
    _document(
        "library",
        "en",
        "National library",
        "The national library keeps a copy of every book and newspaper. Readers need a library card.",
    ),
    _document(
        "swallows",
        "en",
        "Swallows",
        "Swallows migrate from Africa to Europe each spring and build nests of mud under roofs.",
    ),
    _document(
        "hiking",
        "en",
        "Hiking trails",
        "The river trail is flat and good for children. Bring water; there are no shops on the way.",
    ),
    _document(
        "chain",
        "en",
        "Replacing a bicycle chain",
        "To replace a bicycle chain you need a chain tool. Measure the old chain and cut the new one to length.",
    ),
    _document(
        "supply", "en", "Supply chains", "A supply chain links producers and shops. Delays in shipping raise prices."
    ),
    _document(
        "vaccines",
        "en",
        "Childhood vaccination",
        "Children are vaccinated against measles at twelve months. The vaccination schedule is free of charge.",
    ),
    _document(
        "election",
        "en",
        "Election results",
        "Turnout in the local elections was sixty percent. The green party won ten towns.",
    ),
    _document(
        "drought",
        "en",
        "Drought and reservoirs",
        "The drought left reservoirs a third full. Farmers may not irrigate during the day.",
    ),
    _document(
        "irrigation",
        "en",
        "Drip irrigation",
        "Drip irrigation saves water in the garden by wetting only the roots of each plant.",
    ),
    _document(
        "http",
        "en",
        "HTTP caching",
        "A cache stores responses and serves them again. The ETag header lets a client ask whether a page has changed.",
    ),
]

# (query, {document: grade})
JUDGEMENTS: list[tuple[str, dict[str, int]]] = [
    ("hornear pan", {"pan": 2, "masa-madre": 1}),
    ("¿cómo se hace el pan en casa?", {"pan": 2, "masa-madre": 1}),
    ("panes de masa madre", {"masa-madre": 2, "pan": 1}),
    ("el horno no calienta", {"horno": 2}),
    ("reparacion de hornos", {"horno": 2}),
    ("precios harinas", {"harina": 2}),
    ("empadronarse", {"padron": 2}),
    ("qué documentos necesito para empadronarme", {"padron": 2}),
    ("fianza del alquiler", {"alquiler": 2}),
    ("impuesto de vehiculos", {"impuestos": 2, "vehiculos": 1}),
    ("coche electrico centro", {"vehiculos": 2}),
    ("cuándo migran las golondrinas", {"golondrinas": 2}),
    ("causas de la migración", {"migraciones": 2}),
    ("agua en los embalses", {"sequia": 2}),
    ("regar con goteo", {"riego": 2, "huerto": 1}),
    ("cuándo sembrar tomate", {"huerto": 2}),
    ("periodicos antiguos", {"periodicos": 2}),
    ("consultar revistas por fecha", {"periodicos": 2}),
    ("prestamo de libros biblioteca", {"biblioteca": 2}),
    ("participación electoral", {"elecciones": 2}),
    ("vacunar niños sarampión", {"vacunas": 2}),
    ("urgencias centro de salud", {"salud": 2, "vacunas": 1}),
    ("cambiar cadena bici bicicletas", {"bicicleta": 2, "ruta": 1}),
    ("ruta con niños", {"ruta": 2}),
    ("how does garbage collection free memory", {"gc": 2}),
    ("when is the garbage collected by the city", {"waste": 2}),
    ("thread pool size", {"threads": 2}),
    ("heated swimming pools", {"swimming": 2}),
    ("how to sort a list", {"python": 2}),
    ("feeding a python snake", {"snakes": 2}),
    ("regular expression groups", {"regex": 2}),
    ("bake sourdough", {"bread": 2, "yeast": 1}),
    ("oven thermostat", {"oven": 2, "bread": 1}),
    ("what is yeast", {"yeast": 2, "bread": 1}),
    ("national library card", {"library": 2}),
    ("swallow migration", {"swallows": 2}),
    ("flat trails for children", {"hiking": 2}),
    ("replace bike chains bicycle", {"chain": 2}),
    ("supply chain delay", {"supply": 2}),
    ("measles vaccine for a child", {"vaccines": 2}),
    ("election turnout", {"election": 2}),
    ("droughts", {"drought": 2}),
    ("irrigating a garden", {"irrigation": 2, "drought": 1}),
    ("has the page changed etag", {"http": 2}),
]

# what was typed, what was meant, the first result then
TYPOS = [
    ("bibloteca publica", "biblioteca publica", "biblioteca"),
    ("periodcos antigos", "periódicos antiguos", "periodicos"),
    ("golondirnas", "golondrinas", "golondrinas"),
    ("empadronamineto", "empadronamiento", "padron"),
    ("garbge colector", "garbage collector", "gc"),
    ("regualr expresions", "regular expressions", "regex"),
    ("sourdoug bred", "sourdough bread", "bread"),
    ("swiming pol", "swimming pool", "swimming"),
]
