# ruff: noqa: E501  (word lists read better on one line each)
"""Small word models, one per language: noun phrases by topic, verbs, complements, names and the words of a page's frame.

The first entries of each list are the most frequent (they are drawn with Zipf frequencies). Every character fits in
Latin-1 (except Japanese), so that the same sentence can be served in every charset of the region.
"""

from dataclasses import dataclass

TOPICS = ("politics", "economy", "sport", "science", "culture", "travel")


@dataclass(frozen=True)
class Topic:
    """What people write about: the section's name, who acts (nominative) and on what (accusative)."""

    section: str
    subjects: tuple[str, ...]
    objects: tuple[str, ...]


@dataclass(frozen=True)
class Language:
    """The words of one language."""

    code: str
    topics: dict[str, Topic]
    verbs: tuple[str, ...]
    complements: tuple[str, ...]
    connectors: tuple[str, ...]
    places: tuple[str, ...]
    names: tuple[str, ...]
    of: str  # joins a subject and a place: "el alcalde {of} Soria"
    percent: str  # a complement with a number in it
    frame: dict[str, str]


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("|"))


def _topics(text: str) -> dict[str, Topic]:
    """Three lines per topic: section, subjects, objects."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return {
        name: Topic(lines[3 * i], _list(lines[3 * i + 1]), _list(lines[3 * i + 2])) for i, name in enumerate(TOPICS)
    }


FRAME_KEYS = (
    "home|search|updated|published|by|related|most_read|advert|contact|privacy|about|next|previous|friends|more|report"
)


def _frame(text: str) -> dict[str, str]:
    return dict(zip(_list(FRAME_KEYS), _list(text), strict=True))


SPANISH = Language(
    code="es",
    topics=_topics("""
    política
    el gobierno|la presidenta|el alcalde|la ministra|el parlamento|la oposición|el consejo municipal|la comisión electoral|el portavoz del partido|la fiscalía|el tribunal supremo|la embajadora|el sindicato de maestros|la asamblea vecinal
    la reforma de las pensiones|el presupuesto general|la ley de vivienda|un acuerdo de coalición|la nueva constitución|el plan de transporte público|las elecciones regionales|una moción de censura|el tratado de pesca|la huelga general|los derechos de los inquilinos|el censo electoral
    economía
    el banco central|la empresa|el mercado laboral|la bolsa de valores|la industria del automóvil|el sector agrícola|la cámara de comercio|el ministerio de hacienda|la cooperativa del puerto|el fondo de inversión|la cadena de supermercados|el gremio de panaderos
    la subida de los precios|el tipo de interés|la cosecha de aceituna|un préstamo a largo plazo|el impuesto sobre la renta|las exportaciones de vino|la factura de la luz|el salario mínimo|un nuevo centro logístico|la deuda pública|el comercio de barrio|la energía eólica
    deportes
    el equipo local|la selección nacional|el entrenador|la campeona de natación|el delantero|la federación de ciclismo|el club de montaña|la portera|el árbitro del encuentro|la corredora de maratón|el capitán del barco|la afición
    el partido de vuelta|la copa de invierno|una medalla de plata|el récord de los cien metros|la vuelta ciclista|el título de liga|la lesión de rodilla|un gol en el último minuto|la temporada de esquí|el torneo de ajedrez|la regata de otoño|el estadio nuevo
    ciencia
    la universidad|el laboratorio de física|la investigadora|el observatorio astronómico|la agencia espacial|el instituto de biología marina|la doctora|el grupo de geología|la sonda espacial|el museo de historia natural|la red de hospitales|el telescopio
    una vacuna contra la gripe|el origen de la galaxia|las corrientes del océano|un fósil de dinosaurio|la memoria de las aves|el genoma del trigo|los volcanes submarinos|la calidad del aire|un modelo del clima|las matemáticas del tráfico|el sueño de los murciélagos|la luz de las estrellas
    cultura
    la escritora|el festival de cine|la orquesta sinfónica|el museo de arte moderno|la biblioteca nacional|el director de teatro|la compañía de danza|el poeta|la editorial|el archivo histórico|la cantante|la feria del libro
    una novela sobre la guerra|el retrato de la reina|la exposición de fotografía|un concierto de guitarra|las cartas del pintor|la película muda|el manuscrito medieval|una colección de cuentos|la arquitectura de las plazas|el premio de poesía|las canciones del valle|un mural del siglo pasado
    viajes
    la oficina de turismo|el tren de la costa|la guía de montaña|el puerto deportivo|la compañía aérea|el parque natural|la posada del camino|el barrio antiguo|la isla mayor|el refugio de pescadores|la estación de autobuses|el faro del cabo
    la ruta de los castillos|el camino de la playa|un mapa de los senderos|la cocina de la sierra|los mercados al aire libre|el valle de los cerezos|las termas romanas|un viaje en globo|la catedral gótica|el mirador del río|los pueblos blancos|la fiesta de la vendimia
    """),
    verbs=_list(
        "anunció|presentó|defendió|aprobó|estudió|describió|analizó|revisó|celebró|criticó|recuperó|publicó|comparó|explicó|preparó|rechazó|conoció|impulsó|recordó|mostró|discutió|prometió estudiar|volvió a visitar|quiere cambiar|no olvida|todavía espera"
    ),
    complements=_list(
        "durante la última semana|según fuentes oficiales|en la capital|ante cientos de vecinos|después de varios años|con la ayuda de los voluntarios|por primera vez en una década|a pesar de las dudas|en una rueda de prensa|antes del verano|sin dar más detalles|junto a sus compañeros|en las afueras de la ciudad|para evitar nuevos problemas|como parte de un proyecto europeo|desde el mes pasado|con mucha paciencia|a través de internet|en medio de la niebla|gracias a una donación anónima|entre aplausos|con un retraso de dos horas"
    ),
    connectors=_list(
        "Sin embargo,|Además,|Por otra parte,|Mientras tanto,|Ayer|En cambio,|De hecho,|Al mismo tiempo,|Finalmente,|Por eso"
    ),
    places=_list(
        "Madrid|Caracas|Zaragoza|La Laguna|Santiago|Bogotá|Sevilla|Lima|Mérida|Valparaíso|Cuenca|Maracaibo|Cádiz|Teruel|Rosario|Ávila"
    ),
    names=_list(
        "María Quintero|Jorge Salvatierra|Lucía Peñalver|Andrés Goyeneche|Elena Ríos|Tomás Arrieta|Carmen Ibáñez|Raúl Montiel|Inés Zubiri|Óscar Villalba"
    ),
    of="de",
    percent="con un aumento del {} por ciento",
    frame=_frame(
        "Inicio|Buscar|Actualizado|Publicado|Por|Artículos relacionados|Lo más leído|Publicidad|Contacto|Aviso legal|Quiénes somos|Siguiente|Anterior|Sitios amigos|Leer más|Informe completo"
    ),
)

ENGLISH = Language(
    code="en",
    topics=_topics("""
    politics
    the government|the president|the mayor|the minister|the parliament|the opposition|the city council|the electoral commission|the party spokesman|the prosecutor|the supreme court|the ambassador|the teachers' union|the neighbourhood assembly
    the pension reform|the general budget|the housing law|a coalition agreement|the new constitution|the public transport plan|the regional elections|a vote of no confidence|the fishing treaty|the general strike|the rights of tenants|the electoral roll
    economy
    the central bank|the company|the labour market|the stock exchange|the car industry|the farming sector|the chamber of commerce|the treasury|the harbour cooperative|the investment fund|the supermarket chain|the bakers' guild
    the rise in prices|the interest rate|the olive harvest|a long-term loan|the income tax|the wine exports|the electricity bill|the minimum wage|a new logistics centre|the public debt|the corner shops|the wind farms
    sport
    the home team|the national squad|the coach|the swimming champion|the striker|the cycling federation|the mountain club|the goalkeeper|the referee|the marathon runner|the captain of the boat|the crowd
    the second leg|the winter cup|a silver medal|the hundred metres record|the cycling tour|the league title|the knee injury|a goal in the last minute|the skiing season|the chess tournament|the autumn regatta|the new stadium
    science
    the university|the physics laboratory|the researcher|the astronomical observatory|the space agency|the institute of marine biology|the doctor|the geology group|the space probe|the museum of natural history|the hospital network|the telescope
    a vaccine against influenza|the origin of the galaxy|the currents of the ocean|a dinosaur fossil|the memory of birds|the wheat genome|the underwater volcanoes|the quality of the air|a climate model|the mathematics of traffic|the sleep of bats|the light of the stars
    culture
    the writer|the film festival|the symphony orchestra|the museum of modern art|the national library|the theatre director|the dance company|the poet|the publishing house|the historical archive|the singer|the book fair
    a novel about the war|the portrait of the queen|the photography exhibition|a guitar concert|the painter's letters|the silent film|the medieval manuscript|a collection of short stories|the architecture of the squares|the poetry prize|the songs of the valley|a mural of the last century
    travel
    the tourist office|the coastal train|the mountain guide|the marina|the airline|the nature park|the roadside inn|the old town|the main island|the fishermen's refuge|the bus station|the lighthouse on the cape
    the route of the castles|the path to the beach|a map of the trails|the cooking of the highlands|the open-air markets|the valley of cherry trees|the Roman baths|a balloon trip|the Gothic cathedral|the view over the river|the white villages|the grape harvest festival
    """),
    verbs=_list(
        "announced|presented|defended|approved|studied|described|analysed|reviewed|celebrated|criticised|recovered|published|compared|explained|prepared|rejected|discovered|promoted|remembered|showed|discussed|promised to study|visited once again|wants to change|has not forgotten|still awaits"
    ),
    complements=_list(
        "during the last week|according to official sources|in the capital|before hundreds of neighbours|after several years|with the help of volunteers|for the first time in a decade|in spite of the doubts|at a press conference|before the summer|without giving further details|together with their colleagues|on the outskirts of the city|to avoid new problems|as part of a European project|since last month|with great patience|over the internet|in the middle of the fog|thanks to an anonymous donation|to loud applause|with a delay of two hours"
    ),
    connectors=_list(
        "However,|Moreover,|On the other hand,|Meanwhile,|Yesterday|Instead,|In fact,|At the same time,|Finally,|That is why"
    ),
    places=_list(
        "London|Bristol|Edinburgh|Dublin|Leeds|Cardiff|Toronto|Boston|Wellington|Norwich|Galway|Portland|Durham|Perth|Exeter|Whitby"
    ),
    names=_list(
        "Mary Ashworth|George Pemberton|Lucy Hargreaves|Andrew Kilbride|Helen Rivers|Thomas Eastwick|Carol Winslow|Ralph Monteith|Agnes Thornbury|Oscar Whitfield"
    ),
    of="of",
    percent="with an increase of {} per cent",
    frame=_frame(
        "Home|Search|Updated|Published|By|Related articles|Most read|Advertisement|Contact|Legal notice|About us|Next|Previous|Friendly sites|Read more|Full report"
    ),
)

PORTUGUESE = Language(
    code="pt",
    topics=_topics("""
    política
    o governo|a presidente|o prefeito|a ministra|o parlamento|a oposição|a câmara municipal|a comissão eleitoral|o porta-voz do partido|a procuradoria|o supremo tribunal|a embaixadora|o sindicato dos professores|a assembleia de moradores
    a reforma das pensões|o orçamento geral|a lei da habitação|um acordo de coligação|a nova constituição|o plano de transportes públicos|as eleições regionais|uma moção de censura|o tratado das pescas|a greve geral|os direitos dos inquilinos|o recenseamento eleitoral
    economia
    o banco central|a empresa|o mercado de trabalho|a bolsa de valores|a indústria automóvel|o setor agrícola|a câmara de comércio|o ministério das finanças|a cooperativa do porto|o fundo de investimento|a cadeia de supermercados|a associação dos padeiros
    a subida dos preços|a taxa de juro|a colheita da azeitona|um empréstimo a longo prazo|o imposto sobre o rendimento|as exportações de vinho|a conta da luz|o salário mínimo|um novo centro logístico|a dívida pública|o comércio de bairro|a energia eólica
    desporto
    a equipa da casa|a seleção nacional|o treinador|a campeã de natação|o avançado|a federação de ciclismo|o clube de montanha|a guarda-redes|o árbitro do encontro|a corredora da maratona|o capitão do barco|a torcida
    o jogo da segunda mão|a taça de inverno|uma medalha de prata|o recorde dos cem metros|a volta em bicicleta|o título do campeonato|a lesão no joelho|um golo no último minuto|a época de esqui|o torneio de xadrez|a regata de outono|o estádio novo
    ciência
    a universidade|o laboratório de física|a investigadora|o observatório astronómico|a agência espacial|o instituto de biologia marinha|a doutora|o grupo de geologia|a sonda espacial|o museu de história natural|a rede de hospitais|o telescópio
    uma vacina contra a gripe|a origem da galáxia|as correntes do oceano|um fóssil de dinossauro|a memória das aves|o genoma do trigo|os vulcões submarinos|a qualidade do ar|um modelo do clima|a matemática do trânsito|o sono dos morcegos|a luz das estrelas
    cultura
    a escritora|o festival de cinema|a orquestra sinfónica|o museu de arte moderna|a biblioteca nacional|o encenador|a companhia de dança|o poeta|a editora|o arquivo histórico|a cantora|a feira do livro
    um romance sobre a guerra|o retrato da rainha|a exposição de fotografia|um concerto de guitarra|as cartas do pintor|o filme mudo|o manuscrito medieval|uma coleção de contos|a arquitetura das praças|o prémio de poesia|as canções do vale|um mural do século passado
    viagens
    o posto de turismo|o comboio da costa|a guia de montanha|a marina|a companhia aérea|o parque natural|a pousada do caminho|o bairro antigo|a ilha maior|o abrigo dos pescadores|a estação de autocarros|o farol do cabo
    a rota dos castelos|o caminho da praia|um mapa dos trilhos|a cozinha da serra|os mercados ao ar livre|o vale das cerejeiras|as termas romanas|uma viagem de balão|a catedral gótica|o miradouro do rio|as aldeias brancas|a festa das vindimas
    """),
    verbs=_list(
        "anunciou|apresentou|defendeu|aprovou|estudou|descreveu|analisou|reviu|celebrou|criticou|recuperou|publicou|comparou|explicou|preparou|rejeitou|conheceu|promoveu|recordou|mostrou|discutiu|prometeu estudar|voltou a visitar|quer mudar|não esquece|ainda espera"
    ),
    complements=_list(
        "durante a última semana|segundo fontes oficiais|na capital|perante centenas de moradores|depois de vários anos|com a ajuda dos voluntários|pela primeira vez numa década|apesar das dúvidas|numa conferência de imprensa|antes do verão|sem dar mais pormenores|junto dos seus colegas|nos arredores da cidade|para evitar novos problemas|como parte de um projeto europeu|desde o mês passado|com muita paciência|através da internet|no meio do nevoeiro|graças a uma doação anónima|entre aplausos|com um atraso de duas horas"
    ),
    connectors=_list(
        "No entanto,|Além disso,|Por outro lado,|Enquanto isso,|Ontem|Em contrapartida,|De facto,|Ao mesmo tempo,|Finalmente,|Por isso"
    ),
    places=_list(
        "Lisboa|Porto|Coimbra|São Paulo|Recife|Braga|Évora|Salvador|Faro|Curitiba|Funchal|Luanda|Olinda|Guarda|Aveiro|Maputo"
    ),
    names=_list(
        "Maria Quintela|Jorge Salgueiro|Lúcia Penedo|André Gouveia|Helena Rios|Tomás Arruda|Carmo Brandão|Raul Monteiro|Inês Sobral|Óscar Vilaverde"
    ),
    of="de",
    percent="com um aumento de {} por cento",
    frame=_frame(
        "Início|Procurar|Atualizado|Publicado|Por|Artigos relacionados|Mais lidas|Publicidade|Contacto|Aviso legal|Quem somos|Seguinte|Anterior|Sítios amigos|Ler mais|Relatório completo"
    ),
)

FRENCH = Language(
    code="fr",
    topics=_topics("""
    politique
    le gouvernement|la présidente|le maire|la ministre|le parlement|l'opposition|le conseil municipal|la commission électorale|le porte-parole du parti|le parquet|la cour suprême|l'ambassadrice|le syndicat des enseignants|l'assemblée des habitants
    la réforme des retraites|le budget général|la loi sur le logement|un accord de coalition|la nouvelle constitution|le plan de transport public|les élections régionales|une motion de censure|le traité de pêche|la grève générale|les droits des locataires|la liste électorale
    économie
    la banque centrale|l'entreprise|le marché du travail|la bourse|l'industrie automobile|le secteur agricole|la chambre de commerce|le ministère des finances|la coopérative du port|le fonds d'investissement|la chaîne de supermarchés|la corporation des boulangers
    la hausse des prix|le taux d'intérêt|la récolte des olives|un emprunt à long terme|l'impôt sur le revenu|les exportations de vin|la facture d'électricité|le salaire minimum|un nouveau centre logistique|la dette publique|le commerce de quartier|l'énergie éolienne
    sport
    l'équipe locale|la sélection nationale|l'entraîneur|la championne de natation|l'attaquant|la fédération de cyclisme|le club de montagne|la gardienne|l'arbitre de la rencontre|la coureuse de marathon|le capitaine du bateau|le public
    le match retour|la coupe d'hiver|une médaille d'argent|le record du cent mètres|le tour cycliste|le titre de champion|la blessure au genou|un but à la dernière minute|la saison de ski|le tournoi d'échecs|la régate d'automne|le nouveau stade
    sciences
    l'université|le laboratoire de physique|la chercheuse|l'observatoire astronomique|l'agence spatiale|l'institut de biologie marine|la doctoresse|le groupe de géologie|la sonde spatiale|le musée d'histoire naturelle|le réseau des hôpitaux|le télescope
    un vaccin contre la grippe|l'origine de la galaxie|les courants de l'océan|un fossile de dinosaure|la mémoire des oiseaux|le génome du blé|les volcans sous-marins|la qualité de l'air|un modèle du climat|les mathématiques du trafic|le sommeil des chauves-souris|la lumière des étoiles
    culture
    l'écrivaine|le festival de cinéma|l'orchestre symphonique|le musée d'art moderne|la bibliothèque nationale|le metteur en scène|la compagnie de danse|le poète|la maison d'édition|les archives de la ville|la chanteuse|la foire du livre
    un roman sur la guerre|le portrait de la reine|l'exposition de photographie|un concert de guitare|les lettres du peintre|le film muet|le manuscrit médiéval|un recueil de nouvelles|l'architecture des places|le prix de poésie|les chansons de la vallée|une fresque du siècle dernier
    voyages
    l'office de tourisme|le train de la côte|la guide de montagne|le port de plaisance|la compagnie aérienne|le parc naturel|l'auberge du chemin|le vieux quartier|la grande île|le refuge des pêcheurs|la gare routière|le phare du cap
    la route des châteaux|le chemin de la plage|une carte des sentiers|la cuisine de la montagne|les marchés en plein air|la vallée des cerisiers|les thermes romains|un voyage en ballon|la cathédrale gothique|le belvédère sur le fleuve|les villages blancs|la fête des vendanges
    """),
    verbs=_list(
        "a annoncé|a présenté|a défendu|a approuvé|a étudié|a décrit|a analysé|a revu|a célébré|a critiqué|a retrouvé|a publié|a comparé|a expliqué|a préparé|a rejeté|a découvert|a encouragé|a rappelé|a montré|a discuté|a promis d'étudier|a visité de nouveau|veut changer|n'oublie pas|attend encore"
    ),
    complements=_list(
        "pendant la semaine dernière|selon des sources officielles|dans la capitale|devant des centaines d'habitants|après plusieurs années|avec l'aide des bénévoles|pour la première fois depuis dix ans|malgré les doutes|lors d'une conférence de presse|avant l'été|sans donner plus de détails|avec ses collègues|dans la banlieue de la ville|pour éviter de nouveaux problèmes|dans le cadre d'un projet européen|depuis le mois dernier|avec beaucoup de patience|sur internet|au milieu du brouillard|grâce à un don anonyme|sous les applaudissements|avec un retard de deux heures"
    ),
    connectors=_list(
        "Cependant,|En outre,|D'autre part,|Pendant ce temps,|Hier,|En revanche,|En effet,|En même temps,|Finalement,|C'est pourquoi"
    ),
    places=_list(
        "Paris|Lyon|Toulouse|Genève|Bruxelles|Nantes|Rennes|Dakar|Québec|Orléans|Besançon|Colmar|Sète|Nîmes|Troyes|Liège"
    ),
    names=_list(
        "Marie Quentin|Georges Salvigny|Lucie Pervenche|André Gouyon|Hélène Rivière|Thomas Arnaudin|Carole Besson|Raoul Montigny|Agnès Sorbier|Oscar Villedieu"
    ),
    of="de",
    percent="avec une hausse de {} pour cent",
    frame=_frame(
        "Accueil|Chercher|Mis à jour|Publié|Par|Articles liés|Les plus lus|Publicité|Contact|Mentions légales|Qui sommes-nous|Suivant|Précédent|Sites amis|Lire la suite|Rapport complet"
    ),
)

ITALIAN = Language(
    code="it",
    topics=_topics("""
    politica
    il governo|la presidente|il sindaco|la ministra|il parlamento|l'opposizione|il consiglio comunale|la commissione elettorale|il portavoce del partito|la procura|la corte suprema|l'ambasciatrice|il sindacato degli insegnanti|l'assemblea di quartiere
    la riforma delle pensioni|il bilancio generale|la legge sulla casa|un accordo di coalizione|la nuova costituzione|il piano dei trasporti pubblici|le elezioni regionali|una mozione di sfiducia|il trattato sulla pesca|lo sciopero generale|i diritti degli inquilini|le liste elettorali
    economia
    la banca centrale|l'azienda|il mercato del lavoro|la borsa valori|l'industria dell'automobile|il settore agricolo|la camera di commercio|il ministero delle finanze|la cooperativa del porto|il fondo di investimento|la catena di supermercati|l'associazione dei fornai
    l'aumento dei prezzi|il tasso di interesse|la raccolta delle olive|un prestito a lungo termine|l'imposta sul reddito|le esportazioni di vino|la bolletta della luce|il salario minimo|un nuovo centro logistico|il debito pubblico|i negozi di quartiere|l'energia eolica
    sport
    la squadra di casa|la nazionale|l'allenatore|la campionessa di nuoto|l'attaccante|la federazione ciclistica|il club alpino|la portiera|l'arbitro dell'incontro|la maratoneta|il capitano della barca|la tifoseria
    la partita di ritorno|la coppa d'inverno|una medaglia d'argento|il primato dei cento metri|il giro ciclistico|lo scudetto|l'infortunio al ginocchio|un gol all'ultimo minuto|la stagione dello sci|il torneo di scacchi|la regata d'autunno|lo stadio nuovo
    scienza
    l'università|il laboratorio di fisica|la ricercatrice|l'osservatorio astronomico|l'agenzia spaziale|l'istituto di biologia marina|la dottoressa|il gruppo di geologia|la sonda spaziale|il museo di storia naturale|la rete degli ospedali|il telescopio
    un vaccino contro l'influenza|l'origine della galassia|le correnti dell'oceano|un fossile di dinosauro|la memoria degli uccelli|il genoma del grano|i vulcani sottomarini|la qualità dell'aria|un modello del clima|la matematica del traffico|il sonno dei pipistrelli|la luce delle stelle
    cultura
    la scrittrice|il festival del cinema|l'orchestra sinfonica|il museo di arte moderna|la biblioteca nazionale|il regista teatrale|la compagnia di danza|il poeta|la casa editrice|l'archivio storico|la cantante|la fiera del libro
    un romanzo sulla guerra|il ritratto della regina|la mostra di fotografia|un concerto di chitarra|le lettere del pittore|il film muto|il manoscritto medievale|una raccolta di racconti|l'architettura delle piazze|il premio di poesia|le canzoni della valle|un affresco del secolo scorso
    viaggi
    l'ufficio del turismo|il treno della costa|la guida alpina|il porto turistico|la compagnia aerea|il parco naturale|la locanda della strada|il centro storico|l'isola maggiore|il rifugio dei pescatori|la stazione degli autobus|il faro del capo
    la strada dei castelli|il sentiero della spiaggia|una mappa dei percorsi|la cucina della montagna|i mercati all'aperto|la valle dei ciliegi|le terme romane|un viaggio in mongolfiera|la cattedrale gotica|il belvedere sul fiume|i borghi bianchi|la festa della vendemmia
    """),
    verbs=_list(
        "ha annunciato|ha presentato|ha difeso|ha approvato|ha studiato|ha descritto|ha analizzato|ha rivisto|ha celebrato|ha criticato|ha recuperato|ha pubblicato|ha confrontato|ha spiegato|ha preparato|ha respinto|ha scoperto|ha promosso|ha ricordato|ha mostrato|ha discusso|ha promesso di studiare|è tornata a visitare|vuole cambiare|non dimentica|aspetta ancora"
    ),
    complements=_list(
        "durante l'ultima settimana|secondo fonti ufficiali|nella capitale|davanti a centinaia di abitanti|dopo diversi anni|con l'aiuto dei volontari|per la prima volta in dieci anni|nonostante i dubbi|in una conferenza stampa|prima dell'estate|senza dare altri dettagli|insieme ai suoi colleghi|alla periferia della città|per evitare nuovi problemi|come parte di un progetto europeo|dal mese scorso|con molta pazienza|attraverso internet|in mezzo alla nebbia|grazie a una donazione anonima|tra gli applausi|con un ritardo di due ore"
    ),
    connectors=_list(
        "Tuttavia,|Inoltre,|D'altra parte,|Nel frattempo,|Ieri|Invece,|Infatti,|Allo stesso tempo,|Finalmente,|Per questo"
    ),
    places=_list(
        "Roma|Milano|Torino|Napoli|Bologna|Palermo|Trieste|Lugano|Bari|Perugia|Cagliari|Lucca|Matera|Udine|Siena|Mantova"
    ),
    names=_list(
        "Maria Quintili|Giorgio Salvatori|Lucia Pennacchi|Andrea Goretti|Elena Riva|Tommaso Arrighi|Carmen Baldini|Raul Montanari|Agnese Zuccoli|Oscar Villani"
    ),
    of="di",
    percent="con un aumento del {} per cento",
    frame=_frame(
        "Pagina iniziale|Cerca|Aggiornato|Pubblicato|Di|Articoli correlati|I più letti|Pubblicità|Contatti|Note legali|Chi siamo|Successivo|Precedente|Siti amici|Leggi tutto|Rapporto completo"
    ),
)

GERMAN = Language(
    code="de",
    topics=_topics("""
    politik
    die Regierung|die Präsidentin|der Bürgermeister|die Ministerin|das Parlament|die Opposition|der Gemeinderat|die Wahlkommission|der Sprecher der Partei|die Staatsanwaltschaft|das oberste Gericht|die Botschafterin|die Gewerkschaft der Lehrer|die Bürgerversammlung
    die Rentenreform|den Haushalt|das Wohnungsgesetz|einen Koalitionsvertrag|die neue Verfassung|den Plan für den Nahverkehr|die Landtagswahlen|ein Misstrauensvotum|das Fischereiabkommen|den Generalstreik|die Rechte der Mieter|das Wählerverzeichnis
    wirtschaft
    die Zentralbank|das Unternehmen|der Arbeitsmarkt|die Börse|die Autoindustrie|die Landwirtschaft|die Handelskammer|das Finanzministerium|die Genossenschaft am Hafen|der Investmentfonds|die Supermarktkette|die Innung der Bäcker
    den Anstieg der Preise|den Zinssatz|die Olivenernte|einen langfristigen Kredit|die Einkommensteuer|die Ausfuhr von Wein|die Stromrechnung|den Mindestlohn|ein neues Logistikzentrum|die Staatsschulden|die kleinen Läden|die Windkraft
    sport
    die Heimmannschaft|die Nationalmannschaft|der Trainer|die Meisterin im Schwimmen|der Stürmer|der Radsportverband|der Alpenverein|die Torhüterin|der Schiedsrichter|die Marathonläuferin|der Kapitän des Bootes|das Publikum
    das Rückspiel|den Winterpokal|eine Silbermedaille|den Rekord über hundert Meter|die Radrundfahrt|den Meistertitel|die Knieverletzung|ein Tor in letzter Minute|die Skisaison|das Schachturnier|die Herbstregatta|das neue Stadion
    wissenschaft
    die Universität|das Physiklabor|die Forscherin|die Sternwarte|die Raumfahrtagentur|das Institut für Meeresbiologie|die Ärztin|die Gruppe für Geologie|die Raumsonde|das Naturkundemuseum|der Verbund der Krankenhäuser|das Teleskop
    einen Impfstoff gegen die Grippe|den Ursprung der Galaxie|die Strömungen des Ozeans|ein Fossil aus der Kreidezeit|das Gedächtnis der Vögel|das Genom des Weizens|die Vulkane unter dem Meer|die Qualität der Luft|ein Modell des Klimas|die Mathematik des Verkehrs|den Schlaf der Fledermäuse|das Licht der Sterne
    kultur
    die Schriftstellerin|das Filmfestival|das Sinfonieorchester|das Museum für moderne Kunst|die Nationalbibliothek|der Regisseur|die Tanzkompanie|der Dichter|der Verlag|das Stadtarchiv|die Sängerin|die Buchmesse
    einen Roman über den Krieg|das Porträt der Königin|die Ausstellung der Fotografien|ein Gitarrenkonzert|die Briefe des Malers|den Stummfilm|die Handschrift aus dem Mittelalter|eine Sammlung von Erzählungen|die Architektur der Plätze|den Preis für Lyrik|die Lieder des Tales|ein Wandbild aus dem letzten Jahrhundert
    reisen
    das Fremdenverkehrsamt|der Zug an der Küste|die Bergführerin|der Jachthafen|die Fluggesellschaft|der Naturpark|das Gasthaus am Weg|die Altstadt|die große Insel|die Hütte der Fischer|der Busbahnhof|der Leuchtturm am Kap
    die Straße der Burgen|den Weg zum Strand|eine Karte der Wanderwege|die Küche des Berglands|die Märkte im Freien|das Tal der Kirschbäume|die römischen Thermen|eine Fahrt im Ballon|die gotische Kathedrale|den Blick über den Fluss|die weißen Dörfer|das Fest der Weinlese
    """),
    verbs=_list(
        "verkündete|präsentierte|verteidigte|billigte|untersuchte|beschrieb|analysierte|prüfte|feierte|kritisierte|rettete|veröffentlichte|verglich|erklärte|plante|verweigerte|entdeckte|förderte|erwähnte|zeigte|besprach|besuchte erneut|verändert|vergisst nie|erwartet noch immer"
    ),
    complements=_list(
        "in der letzten Woche|nach amtlichen Angaben|in der Hauptstadt|vor Hunderten von Nachbarn|nach mehreren Jahren|mit der Hilfe von Freiwilligen|zum ersten Mal seit zehn Jahren|trotz der Zweifel|auf einer Pressekonferenz|vor dem Sommer|ohne weitere Einzelheiten|gemeinsam mit den Kollegen|am Rand der Stadt|gegen neue Probleme|im Rahmen eines europäischen Projekts|seit dem letzten Monat|mit viel Geduld|über das Internet|mitten im Nebel|dank einer anonymen Spende|unter großem Beifall|mit zwei Stunden Verspätung"
    ),
    connectors=_list(
        "Allerdings:|Außerdem:|Dagegen:|Inzwischen:|Bericht:|Umgekehrt:|Tatsache ist:|Zugleich:|Am Ende:|Deshalb:"
    ),
    places=_list(
        "Berlin|Wien|Zürich|Leipzig|Bremen|Köln|Graz|Bern|Dresden|Lübeck|Weimar|Kiel|Görlitz|Passau|Tübingen|Münster"
    ),
    names=_list(
        "Maria Quandt|Georg Salzmann|Lucie Pfennig|Andreas Gohlke|Helene Bachmann|Thomas Ahrens|Karoline Busch|Ralf Monheim|Agnes Zobel|Oskar Wildner"
    ),
    of="von",
    percent="mit einem Zuwachs von {} Prozent",
    frame=_frame(
        "Startseite|Suchen|Aktualisiert|Erschienen|Von|Verwandte Artikel|Meistgelesen|Anzeige|Kontakt|Impressum|Über uns|Weiter|Zurück|Befreundete Seiten|Weiterlesen|Ganzer Bericht"
    ),
)

CATALAN = Language(
    code="ca",
    topics=_topics("""
    política
    el govern|la presidenta|l'alcalde|la ministra|el parlament|l'oposició|el consell municipal|la comissió electoral|el portaveu del partit|la fiscalia|el tribunal suprem|l'ambaixadora|el sindicat de mestres|l'assemblea de veïns
    la reforma de les pensions|el pressupost general|la llei d'habitatge|un acord de coalició|la nova constitució|el pla de transport públic|les eleccions regionals|una moció de censura|el tractat de pesca|la vaga general|els drets dels llogaters|el cens electoral
    economia
    el banc central|l'empresa|el mercat laboral|la borsa de valors|la indústria de l'automòbil|el sector agrícola|la cambra de comerç|el ministeri d'hisenda|la cooperativa del port|el fons d'inversió|la cadena de supermercats|el gremi de forners
    la pujada dels preus|el tipus d'interès|la collita de l'oliva|un préstec a llarg termini|l'impost sobre la renda|les exportacions de vi|el rebut de la llum|el salari mínim|un nou centre logístic|el deute públic|el comerç de barri|l'energia eòlica
    esports
    l'equip local|la selecció nacional|l'entrenador|la campiona de natació|el davanter|la federació de ciclisme|el club de muntanya|la portera|l'àrbitre de la trobada|la corredora de marató|el capità del vaixell|l'afició
    el partit de tornada|la copa d'hivern|una medalla d'argent|el rècord dels cent metres|la volta ciclista|el títol de lliga|la lesió de genoll|un gol a l'últim minut|la temporada d'esquí|el torneig d'escacs|la regata de tardor|l'estadi nou
    ciència
    la universitat|el laboratori de física|la investigadora|l'observatori astronòmic|l'agència espacial|l'institut de biologia marina|la doctora|el grup de geologia|la sonda espacial|el museu d'història natural|la xarxa d'hospitals|el telescopi
    una vacuna contra la grip|l'origen de la galàxia|els corrents de l'oceà|un fòssil de dinosaure|la memòria dels ocells|el genoma del blat|els volcans submarins|la qualitat de l'aire|un model del clima|les matemàtiques del trànsit|el son de les ratapinyades|la llum dels estels
    cultura
    l'escriptora|el festival de cinema|l'orquestra simfònica|el museu d'art modern|la biblioteca nacional|el director de teatre|la companyia de dansa|el poeta|l'editorial|l'arxiu històric|la cantant|la fira del llibre
    una novel·la sobre la guerra|el retrat de la reina|l'exposició de fotografia|un concert de guitarra|les cartes del pintor|la pel·lícula muda|el manuscrit medieval|un recull de contes|l'arquitectura de les places|el premi de poesia|les cançons de la vall|un mural del segle passat
    viatges
    l'oficina de turisme|el tren de la costa|la guia de muntanya|el port esportiu|la companyia aèria|el parc natural|l'hostal del camí|el barri antic|l'illa major|el refugi de pescadors|l'estació d'autobusos|el far del cap
    la ruta dels castells|el camí de la platja|un mapa dels senders|la cuina de la serra|els mercats a l'aire lliure|la vall dels cirerers|les termes romanes|un viatge en globus|la catedral gòtica|el mirador del riu|els pobles blancs|la festa de la verema
    """),
    verbs=_list(
        "va anunciar|va presentar|va defensar|va aprovar|va estudiar|va descriure|va analitzar|va revisar|va celebrar|va criticar|va recuperar|va publicar|va comparar|va explicar|va preparar|va rebutjar|va conèixer|va impulsar|va recordar|va mostrar|va discutir|va prometre estudiar|va tornar a visitar|vol canviar|no oblida|encara espera"
    ),
    complements=_list(
        "durant la darrera setmana|segons fonts oficials|a la capital|davant de centenars de veïns|després d'uns quants anys|amb l'ajuda dels voluntaris|per primera vegada en una dècada|malgrat els dubtes|en una roda de premsa|abans de l'estiu|sense donar més detalls|al costat dels seus companys|als afores de la ciutat|per evitar nous problemes|com a part d'un projecte europeu|des del mes passat|amb molta paciència|a través d'internet|enmig de la boira|gràcies a una donació anònima|entre aplaudiments|amb un retard de dues hores"
    ),
    connectors=_list(
        "Tanmateix,|A més,|D'altra banda,|Mentrestant,|Ahir|En canvi,|De fet,|Al mateix temps,|Finalment,|Per això"
    ),
    places=_list(
        "Barcelona|Girona|Palma|València|Lleida|Tarragona|Perpinyà|Vic|Olot|Manresa|Alacant|Maó|Tortosa|Reus|Berga|Sóller"
    ),
    names=_list(
        "Maria Quintana|Jordi Salvador|Llúcia Penya|Andreu Goula|Helena Riu|Tomàs Arnau|Carme Bofill|Raül Montcada|Agnès Sorribes|Òscar Vilanova"
    ),
    of="de",
    percent="amb un augment del {} per cent",
    frame=_frame(
        "Inici|Cerca|Actualitzat|Publicat|Per|Articles relacionats|El més llegit|Publicitat|Contacte|Avís legal|Qui som|Següent|Anterior|Llocs amics|Llegir més|Informe complet"
    ),
)

JAPANESE = Language(
    code="ja",
    topics=_topics("""
    seiji
    政府は|大統領は|市長は|大臣は|国会は|野党は|市議会は
    年金の改革を|予算案を|住宅法を|新しい憲法を|交通計画を|地方選挙を
    keizai
    中央銀行は|会社は|労働市場は|証券取引所は|自動車産業は|農業団体は
    物価の上昇を|金利を|オリーブの収穫を|所得税を|最低賃金を|風力発電を
    supotsu
    地元のチームは|代表チームは|監督は|水泳の選手は|登山クラブは|審判は
    冬の大会を|銀メダルを|百メートルの記録を|自転車レースを|将棋の試合を|新しい競技場を
    kagaku
    大学は|物理研究所は|研究者は|天文台は|宇宙機関は|博物館は
    インフルエンザの予防接種を|銀河の起源を|海の流れを|恐竜の化石を|鳥の記憶を|星の光を
    bunka
    作家は|映画祭は|交響楽団は|美術館は|図書館は|詩人は
    戦争の小説を|女王の肖像を|写真展を|画家の手紙を|短編集を|谷の歌を
    ryoko
    観光案内所は|海岸の列車は|山の案内人は|航空会社は|自然公園は|旧市街は
    城の道を|浜辺の道を|地図を|山の料理を|朝市を|桜の谷を
    """),
    verbs=_list(
        "発表しました|紹介しました|承認しました|研究しました|説明しました|分析しました|祝いました|批判しました|公開しました|比較しました|準備しました"
    ),
    complements=_list(
        "先週|首都で|数年後に|十年ぶりに|記者会見で|夏の前に|町の郊外で|先月から|霧の中で|インターネットで|拍手の中で"
    ),
    connectors=_list("しかし、|また、|一方、|昨日、|実は、|同時に、|最後に、"),
    places=_list("東京|京都|大阪|札幌|長崎|金沢|奈良|仙台"),
    names=_list("田中花子|鈴木一郎|山本春|佐藤健|高橋光"),
    of="、",
    percent="{}パーセント増で",
    frame=_frame(
        "ホーム|検索|更新|公開|著者|関連記事|人気の記事|広告|連絡先|法的事項|このサイトについて|次へ|前へ|友達のサイト|続きを読む|報告書"
    ),
)

LANGUAGES = {
    language.code: language for language in (SPANISH, ENGLISH, PORTUGUESE, FRENCH, ITALIAN, GERMAN, CATALAN, JAPANESE)
}
