"""Noise that every site has: clocks, relative dates, visit counters, tokens, cache-busting, advertisements.

In English and Spanish, the usual forms in French, German, Portuguese, Italian and Catalan too. The rule is caution: a
number or a date is noise only where the words around it say that a machine wrote it. A price, an event's date, a
checksum, a number in a sentence are never touched. What a site has beyond this is for its own rules (`ChangeRules`)
or is learned (`NoiseModel`)."""

import re
from functools import lru_cache
from urllib.parse import urljoin

import re2

from hemeroteca.extract import native

SCRIPT = 500  # characters of an embedded script that tell which one it is; the rest of long ones is data
LONG = 2000  # characters of a line; longer ones are prose or data and stay as they are

_NUMBER = r"\d{1,15}(?:[.,\u00a0\u202f ]\d{1,3}){0,4}(?: ?(?:k|m|mil|mill\.?))?"
_UNIT_EN = r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|years?)"
_UNIT_ES = r"(?:segundos?|segs?|minutos?|mins?|horas?|hrs?|d[ií]as?|semanas?|mes(?:es)?|años?)"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?|ene(?:ro)?|febrero|marzo|abr(?:il)?|mayo|junio|julio|ago(?:sto)?|sep?tiembre"
    r"|octubre|noviembre|dic(?:iembre)?"
    r"|janvier|f[ée]v(?:rier)?|mars|avr(?:il)?|mai|juin|juil(?:let)?|ao[ûu]t|septembre|octobre|novembre"
    r"|d[ée]c(?:embre)?"
    r"|j[äa]n(?:ner|uar)|februar|m[äa]rz|juni|juli|okt(?:ober)?|dez(?:ember)?"
    r"|janeiro|fev(?:ereiro)?|março|maio|junho|julho|set(?:embro)?|out(?:ubro)?|novembro|dezembro"
    r"|gen(?:naio)?|febbraio|aprile|mag(?:gio)?|giu(?:gno)?|lug(?:lio)?|settembre|ott(?:obre)?|dicembre"
    r"|gener|febrer|maig|juny|juliol|agost|setembre|des(?:embre)?)\b\.?"
)
_FULL_WEEKDAY = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|lunes|martes|mi[ée]rcoles|jueves|viernes|s[áa]bado|domingo"
    r"|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
    r"|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag"
    r"|(?:segunda|ter[çc]a|quarta|quinta|sexta)(?:-feira)?"
    r"|(?:lune|marte|mercole|giove|vener)d[ìi]|sabato|domenica"
    r"|dilluns|dimarts|dimecres|dijous|divendres|dissabte|diumenge"
)
_WEEKDAY = (
    rf"{_FULL_WEEKDAY}|(?:mon|tues?|wed|thu(?:rs)?|fri|sat|sun)\b\.?"
    r"|(?:lun|mar|mi[ée]|jue|vie|s[áa]b|dom|mer|jeu|ven|sam|dim|gio)\b\.?|(?:mo|di|mi|do|fr|sa|so)\b\.?(?=,)"
)
DATE = (
    rf"(?:(?:{_WEEKDAY}),? (?:the |el |le |der |den )?)?"
    rf"(?:\d{{1,2}}(?:º|er|st|nd|rd|th|\.)?(?: de| d[’'])? ?{_MONTH}(?:(?: de| del|,)? \d{{4}})?"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?"
    r"|\d{4}[/.-]\d{1,2}[/.-]\d{1,2}|\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4})"
)
_ZONE = r"(?: ?\(?(?:z|utc|gmt|[a-z]{2,3}t)\b)?(?: ?[+-]\d{1,2}:?\d{0,2}\b)?\)?"
_HALF = r"(?: ?[ap]\.? ?m\b\.?)"
_TIME = (
    rf"(?:\d{{1,2}}(?:[:h]| h )\d{{2}}(?::\d{{2}}(?:[.,]\d{{1,6}})?)?{_HALF}?(?: ?h(?:rs?|s|oras)?\b\.?| uhr)?{_ZONE}"
    rf"|\d{{1,2}}(?:\.\d{{2}})?(?:{_HALF}| ?h(?:rs?|s|oras)?\b\.?))"  # 10.30 alone may be a price
)
_CLOCK = r"\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,6})?"
_BETWEEN = r"(?:,? ?(?:t|at|a las?|[-–|,])?,? ?)"
_STAMP = rf"(?:{DATE}(?:{_BETWEEN}{_TIME})?|{_TIME}(?:{_BETWEEN}(?:on |el |del )?{DATE})?)"
_COUNTED = (
    r"(?:vues|visites|lectures|téléchargements|abonnés|partages|commentaires|aufrufe|besucher|klicks"
    r"|kommentare|abonnenten"
    r"|visualizações|visualizzazioni|visite|letture|commenti|comentários|visitas?|visitantes?|vistas"
    r"|visualizaciones|reproducciones|lecturas|lectores|descargas|seguidores|suscriptores"
    r"|compartid[oa]s?|me gusta|comentarios?|usuarios (?:en línea|conectados|online|activos)"
    r"|personas (?:en línea|conectadas|viendo|están viendo)"
    r"|(?:page ?)?views?|visits?|visitors?|hits|reads|plays|downloads?|followers|subscribers|likes?|shares?|comments?"
    r"|(?:users?|people|guests?|members?|visitors?) (?:online|viewing|watching|reading|are (?:viewing|watching)))"
    r"(?: (?:this|today|hoy|esto|en total|in total))?"
)
_OFTEN = r"(?:times|veces|fois|mal|vezes|volte|vegades)"
_UNIT_ELSE = (
    r"(?:secondes?|minutes?|heures?|jours?|semaines?|mois|ans?|années?|sekunden?|minuten?|stunden?|tag(?:en?)?|wochen?"
    r"|monat(?:en?)?|jahr(?:en?)?|segundos?|minutos?|horas?|dias?|semanas?|m[êe]s(?:es)?|anos?"
    r"|secondi|minut[oi]|or[ae]|giorn[oi]|settiman[ae]|mes[ei]|ann[oi]|segons|minuts?|hor[ae]s?|di[ae]s)"
)
_DAYS_AGO = (
    "today|yesterday|hoy|ayer|hoje|ontem|aujourd['’]hui|hier|heute|gestern|oggi|ieri|just now|ahora mismo|avui|ahir"
)
_EDGE = r"[·|•()\[\],;:–—/]"

_RELATIVE = re.compile(
    rf"\bhace (?:unos |unas |menos de |más de |casi |aproximadamente )?"
    rf"(?:(?:\d{{1,4}}|un|una|pocos|pocas|algunos|algunas)? ?{_UNIT_ES}(?:,? (?:y |con )?\d{{1,4}} {_UNIT_ES})?"
    r"|instantes|un instante|un momento)\b"
    rf"|\b(?:about |over |almost |less than |more than )?(?:\d{{1,4}}|an?|one|a few) ?(?:{_UNIT_EN}|[smhdwy]|mo)"
    rf"(?:,? (?:and )?\d{{1,4}} ?(?:{_UNIT_EN}|[smhd]))? ago\b"
    r"|\b(?:just now|moments ago|seconds ago|a moment ago|ahora mismo)\b"
    rf"|\b(?:vor|il y a|h[áà]|fa) (?:environ |etwa |cerca de )?(?:\d{{1,4}}|une?|uma?|einer?|einem) ?{_UNIT_ELSE}\b"
    rf"|\b(?:\d{{1,4}}|une?|uma?) {_UNIT_ELSE} (?:fa|atrás)\b"
    rf"|\b(?:posted|published|updated|publicad[oa]|actualizad[oa]|atualizado|publié|mise? à jour|veröffentlicht"
    rf"|pubblicato"
    rf"|aggiornato):? (?:{_DAYS_AGO})\b(?:,? (?:at |a las? |um |à |às |alle )?\d{{1,2}}[:h.]\d{{2}}{_HALF}?)?"
    rf"|\b(?:faltan|quedan) \d{{1,4}} {_UNIT_ES}(?:,? (?:y )?\d{{1,4}} {_UNIT_ES})?\b"
    rf"|\b\d{{1,4}} {_UNIT_EN}(?:,? (?:and )?\d{{1,4}} {_UNIT_EN})? (?:left|remaining|to go)\b",
    re.I,
)
_LABELLED = re.compile(
    r"((?:\b(?:last |page |this page (?:was )?(?:last )?)?(?:updated|modified|generated|refreshed|checked|retrieved)"
    r"|\b(?:last (?:update|change|modification))|\b(?:server|local|current|gmt|utc) time|\btime now|\btoday is"
    r"|\b(?:última |ultima )(?:actualización|actualizacion|modificación|modificacion|revisión automática)"
    r"|\b(?:actualizad|modificad|generad|consultad)[oa]|\bhoy es|\bhora (?:actual|local|del servidor|oficial)"
    r"|\bfecha y hora|\bfecha actual|\bson las|\bnous sommes|\bil est|\bmise? à jour|\bheute ist|\bes ist"
    r"|\bstand(?=:| vom)"
    r"|\baktualisiert|\bultimo aggiornamento|\boggi è|\bsono le|\bhoje é|\bagora são|\bavui és)"
    r"(?: ?(?:on|at|el|la|las|a las?|día|the|hoy|today|is|es|le|der|den|am|vom|um|il|em|às|[:,=–-])){0,3} ?)"
    rf"{_STAMP}",
    re.I,
)
# A bare 2:03:59 may be the result of a race; a clock to the second has a date, a half of the day or a zone.
_LONE_CLOCK = re.compile(
    rf"^\W{{0,3}}(?:{DATE}{_BETWEEN}{_CLOCK}{_HALF}?{_ZONE}|{_CLOCK}(?:{_HALF}| ?(?:z|utc|gmt|[a-z]{{2,3}}t)\b)"
    rf"(?: ?[+-]\d{{1,2}}:?\d{{0,2}})?)\W{{0,3}}$",
    re.I,
)
_COUNTER = re.compile(
    rf"(?:(?<=^)|(?<={_EDGE})|(?<={_EDGE} ))(?:{_NUMBER} {_COUNTED}(?: (?=\d)|(?=$| ?\.?$| ?{_EDGE}))){{1,6}}"
    rf"|(?:(?<=^)|(?<={_EDGE})|(?<={_EDGE} ))(?:total(?: de)? |number of |n[úu]mero de |n[º°]\.? ?de )?{_COUNTED}"
    rf" ?[:=#]? ?{_NUMBER}(?=$| ?\.?$| ?{_EDGE})"
    rf"|\b(?:visitor|visitante) (?:number|no\.?|n[úu]mero|n[º°]\.?|#) ?:? ?{_NUMBER}"
    rf"|(?:(?<=^)|(?<={_EDGE})|(?<={_EDGE} )|\b(?:has|have) been |\bha sido |\bwurde )(?:(?:viewed|visited|read"
    rf"|downloaded"
    r"|clicked|leíd[oa]|vist[oa]|visitad[oa]|descargad[oa]|vue?|lue?|gelesen|aufgerufen|lid[oa]|visualizad[oa]"
    r"|lett[oa])"
    rf" {_NUMBER} ?{_OFTEN}|{_NUMBER} ?{_OFTEN} (?:viewed|visited|read|gelesen|aufgerufen|angesehen))(?=$"
    rf"| ?\.?$| ?{_EDGE})"
    rf"|\b(?:there are|currently|right now|hay|ahora|actualmente)(?: hay)? {_NUMBER} "
    rf"(?:(?:guests?|users?|members?|visitors?)(?:,? and|,) (?:{_NUMBER}|no) )?"
    r"(?:(?:users?|people|guests?|members?|visitors?) (?:are )?(?:online|viewing|watching|reading)"
    r"|(?:usuarios|personas|invitados|visitantes|miembros) (?:en línea|conectad[oa]s|online|viendo))",
    re.I,
)
_MACHINE = re.compile(
    r"\b(?:generated|rendered|served|loaded|created|executed|generad[oa]|cargad[oa]|servid[oa]|load(?:ing)? time"
    r"|(?:response|query|processing|execution) time|tiempo de (?:carga|respuesta|generación|ejecución))"
    r"(?: ?(?:in|en|took|is|de|[:=])){0,2} ?\d{1,6}(?:[.,]\d{1,9})? ?"
    r"(?:ms|milliseconds?|milisegundos?|s|secs?|seconds?|segundos?)\b"
    r"|\b\d{1,5} (?:sql |database )?queries\b|\b\d{1,5} consultas(?: sql| a la base de datos)\b"
    r"|\b(?:request|ray|trace|correlation|session|transaction|incident|error|solicitud|sesión|petición)"
    r"[ -]?(?:id|no|nº|number|token|reference|code)?\.? ?[:#=]? ?[0-9a-f][0-9a-f-]{11,63}\b"
    r"|\b(?:csrf|xsrf|nonce|token)(?:[ _-]token)? ?[:=] ?[\w+/=-]{12,200}",
    re.I,
)
_KEY = re.compile(  # of JSON, where a line is `$.place: value`
    r"^(\$\S{0,500}\.(?:timestamp|ts|now|nonce|etag|_?csrf(?:_?token)?|(?:request|trace|session)_?id"
    r"|(?:generated|updated|fetched|cached|served|expires|server|current|last_?(?:updated|modified))_?(?:at|on"
    r"|time|date)?)"
    r": ).+$",
    re.I,
)
_COPYRIGHT = re.compile(r"((?:©|\(c\)|\bcopyright\b)[^\d]{0,40})\d{4}(?: ?[-–—] ?\d{4})?", re.I)
# A first look that costs a tenth of the others: a word that one of them needs.
_options = re2.Options()
_options.never_capture = True
_options.case_sensitive = False
_SUSPECT = re2.compile(
    r"\bago\b|\bhace |now\b|ahora|\d (?:left|remaining|to go)|faltan|quedan|updated?|modifi|generat|refresh|checked"
    r"|retriev|change|time|today|hoy es|actuali[sz]|generad|consultad|hora |fecha|son las|revisi|\d:\d\d:\d\d|visit"
    r"|vista|view|visual|reprod|lect|descarg|seguidor|suscri|compart|me gusta|coment|comment|usuari|user|person|people"
    r"|guest|member|hits|read|play|download|follow|subscri|like|share|hay \d|there are|current|rendered|served|loaded"
    r"|created|executed|cargad|servid|tiempo|quer|request|ray|trace|correl|session|transac|incident|error|solicit|sesi"
    r"|petici|\bvor (?:\d|ein)|il y a|\bh[áà] (?:\d|um)|\bfa (?:\d|un)| fa\b|atrás|posted|publi(?:shed|cad|é)|pubblicat"
    r"|aggiornat|atualizado|mise? à jour|veröffentl|nous sommes|\bil est \d|heute|es ist|\bstand(?::| vom)"
    r"|aktualis|oggi è"
    r"|sono le|hoje é|agora são|avui és|\d ?(?:times|veces|fois|mal|vezes|volte|vegades)\b|vues|lectures"
    r"|téléch|abonn|partage"
    r"|aufrufe|besucher|klicks|kommentar|letture|csrf|xsrf|nonce|token|fetched|cached|expires|\.ts:|etag|_?id:|©|\(c\)|copyright",
    _options,
)

# Lines that are nothing but the moment or the weather of a visit: a masthead has one or two, a timetable has many.
# A date with a time but without its weekday may be that of an event.
_OCLOCK = r"(?: ?h(?:rs?|s|oras)?\b\.?)"
_LONE_TIME = (  # 10.32 alone may be a price
    rf"(?:[01]?\d|2[0-3])(?:(?:[:h]| h )[0-5]\d(?:{_HALF}|{_OCLOCK}| uhr)?|\.[0-5]\d(?:{_HALF}|{_OCLOCK}| uhr)){_ZONE}"
    r"|(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"  # 2:03:59 may be the result of a race
)
_NAMED_DAY = (
    r"(?:(?:today|hoy|heute|oggi|hoje|avui|nous sommes|aujourd['’]hui)(?: is| es| ist| è| é| és)?[,:]? (?:le )?)?"
    rf"(?:{_WEEKDAY}),? (?:the |el |le |der |den )?"
    rf"(?:\d{{1,2}}(?:º|er|st|nd|rd|th|\.)?(?: de| d[’'])? ?{_MONTH}(?:(?: de| del|,)? \d{{4}})?"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|\d{{1,2}}[/.-]\d{{1,2}}[/.-]\d{{2,4}})"
)
_DAY = (
    rf"\d{{1,2}}(?:º|er|st|nd|rd|th|\.)?(?: de| d[’'])? ?{_MONTH}(?: de| del|,)? \d{{4}}"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}"
    r"|\d{4}[/.-]\d{1,2}[/.-]\d{1,2}|\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}"
)
_SKY = (
    r"(?:(?:mostly|partly|light|heavy|mainly|parcialmente|muy|poco|mayormente) )?(?:sunny|clear(?: sky)?|cloudy"
    r"|overcast|rain(?:y)?|showers|snow(?:y)?|fog(?:gy)?|mist|thunderstorms?|drizzle|windy|clouds"
    r"|soleado|despejado|nublado|nuboso|cubierto|lluvia|lluvioso|chubascos|nieve|niebla|tormentas?|llovizna|viento"
    r"|ensoleillé|nuageux|couvert|pluie|averses|neige|brouillard|orages?|heiter|wolkig|bedeckt|regen|schauer"
    r"|schnee|nebel"
    r"|gewitter|ensolarado|nublado|chuva|sereno|nuvoloso|pioggia|neve|nebbia|temporali)"
)
_AIR = (
    r"(?:relative )?(?:humidity|humedad|humidité|luftfeuchte|luftfeuchtigkeit|umidade|umidità|wind|viento|vent"
    r"|vento) ?:?"
    r" ?(?:[nsewo]{1,3} )?\d{1,3}(?:[.,]\d)? ?(?:%|km/h|mph|m/s|kn|kt|knots|nudos|bft)"
)
_DEGREES = r"[-+−]?\d{1,3}(?:[.,]\d)? ?(?:°|º) ?[CF]?(?!\w)"
_AROUND = r"[^\w$€£¥₡₲₿%]{0,3}"  # what is counted in money is a price
_PASSING = re.compile(
    rf"^{_AROUND}(?:{_LONE_TIME}|{_DAY}|{_NAMED_DAY}(?:{_BETWEEN}(?:{_LONE_TIME}))?"
    rf"|(?:{_LONE_TIME}){_BETWEEN}{_NAMED_DAY}"
    rf"|{_SKY}|{_AIR}){_AROUND}$|{_DEGREES}",
    re.I,
)
MAX_PASSING = 80  # characters of such a line; a sentence that names a temperature is longer

MARK = "\ufffc"


def is_passing(line: str) -> bool:
    """Whether a line says only what time, day or weather it is. Where it stands decides whether that is noise."""
    return len(line) <= MAX_PASSING and _PASSING.search(line) is not None


def clean(line: str) -> str:
    """A line of text with its noise replaced by a mark."""
    return line if len(line) > LONG else _clean(line)


@lru_cache(2048)  # a comparison asks for a line several times, and so does the next version
def _clean(line: str) -> str:
    if "http://" in line:
        line = line.replace("http://", "https://")
    if not _SUSPECT.search(line):
        return line
    line = _RELATIVE.sub(MARK, line)
    if not any(map(str.isdigit, line)) and not line.startswith("$"):
        return line
    if _LONE_CLOCK.match(line):
        return MARK
    line = _LABELLED.sub(_after_label, line)
    line = _COUNTER.sub(MARK, line)
    line = _MACHINE.sub(MARK, line)
    if line.startswith("$"):
        line = _KEY.sub(_after_label, line)
    return _COPYRIGHT.sub(_after_label, line)


def _after_label(match: re.Match[str]) -> str:
    return match[1] + MARK  # a template would be read anew for each line


# Addresses

_PROTOCOL = re.compile(r"^https?:(?=//)", re.I)
_HOST = re.compile(r"(?:(?<=^)|(?<=[\s,]))(?:https?:)?//[^/?#\s,]{1,253}", re.I)
_SESSION = re.compile(
    r"(?<=[?&])(?:phpsessid|jsessionid|sid(?==\w{16})|sess|sessid|session_?id|aspsessionid\w*|cfid|cftoken"
    r"|_?csrf(?:_?token)?"
    r"|csrfmiddlewaretoken|authenticity_token|_token|token|nonce|_?wpnonce|_nonce|sig|signature|expires|policy"
    r"|key-pair-id|x-amz-[a-z-]{1,30}|x-goog-[a-z-]{1,30}|utm_[a-z]{1,20}|fbclid|gclid|msclkid|dclid|_ga|_gl"
    r"|mc_[ce]id|_|nocache|no_cache|cachebuster|cache_?bust|cb|rnd|rand|random|ts|timestamp)=[^&]*&?",
    re.I,
)
_PATH_SESSION = re.compile(r";(?:jsessionid|phpsessid|sid)=[^?;/]*", re.I)
_VERSION = re.compile(r"(?<=[?&])(?:v|ver|version|rev|build|hash|t|time|mtime|cache|_v)=[^&]*&?", re.I)
_BARE_VERSION = re.compile(r"\?[0-9a-f._-]{4,64}$", re.I)  # style.css?1714730000
_FILE = re.compile(
    r"\.(?:css|m?js|png|jpe?g|gif|webp|avif|svg|ico|woff2?|ttf|mp4|webm|mp3|ogg|json|xml|txt)(?=\?|$)", re.I
)
_HASHED = re.compile(
    r"[.~_-](?=[0-9a-z]*\d)(?=[0-9a-z]*[a-z])[0-9a-z]{6,64}(?=[.-])|[.~_-][0-9a-f]{8,64}(?=[.-])", re.I
)
_CODE = re.compile(r"\.(?:css|m?js)(?=\?|$)", re.I)
_ADVERTISER = re.compile(
    r"//(?:ads|adserver|adservice)\d{0,3}\.[\w.-]{3,200}(?=[:/]|$)|//(?:[\w-]{1,60}\.){0,4}(?:doubleclick\.net"
    r"|googlesyndication\.com|googleadservices\.com|adnxs\.com|taboola\.com"
    r"|outbrain\.com|criteo\.(?:com|net)|amazon-adsystem\.com|adsafeprotected\.com|smartadserver\.com"
    r"|rubiconproject\.com"
    r"|pubmatic\.com|moatads\.com|adform\.net|openx\.net|scorecardresearch\.com|google-analytics\.com)(?=[:/]|$)",
    re.I,
)


def place_of(address: str, page: str) -> str:
    """Where a link leads, by whichever protocol: //example.org/a for http and https, and for /a on that site."""
    place = _PROTOCOL.sub("", _resolved(address, page), 1)
    return f"{place}/" if place.startswith("//") and place.count("/") == 2 and "?" not in place else place


def file_of(address: str, page: str) -> str:
    """What is loaded, from whichever host: the same file of another CDN is no news. Also of a `srcset`."""
    return _HOST.sub("", _resolved(address, page))


_STYLED = re.compile(r"\burl\(\s*(['\"]?)([^'\")\s]{1,2000})\1\s*\)", re.I)


def clean_style(style: str, page: str) -> str:
    """Declarations of a style whose pictures may come from whichever host."""
    if "url(" in style:
        style = _STYLED.sub(lambda found: f"url({file_of(clean_address(found[2]), page)})", style)
    return re.sub(r"\s+", "", style).rstrip(";")


def _resolved(address: str, page: str) -> str:
    address = address.strip()
    if len(address) > LONG or " " in address:
        return address
    try:
        return urljoin(page, address)
    except ValueError:
        return address


def clean_address(address: str) -> str:
    """An address without what changes while it leads to the same thing; empty for an advertisement."""
    if len(address) > LONG:
        return address
    if "//" in address and _ADVERTISER.search(address):
        return ""
    address = address.partition("#")[0]
    if ";" in address:
        address = _PATH_SESSION.sub("", address)
    if "?" in address:
        address = _SESSION.sub("", address)
        if _FILE.search(address):
            address = _BARE_VERSION.sub("", _VERSION.sub("", address))
        address = address.rstrip("?&")
    if _CODE.search(address):  # app.3f2a1c9d.js: its author's build, not its reader's news
        address = _HASHED.sub("", address)
    return address


# Class names, fields and scripts

_BUILT = re.compile(
    r"(?<=[A-Za-z])(?:__?|--?)(?=[A-Za-z0-9_-]*\d)[A-Za-z0-9]{5,10}$|^(?:css|sc|jsx?|svelte)-[\w-]{4,20}$"
)
_RANDOM = re.compile(r"[0-9a-f]{8,}|\d{3,}", re.I)
_LITERAL = re.compile(r"\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'|\b[0-9a-f]{8,}\b|\b\d[\w.]*")
_SPACE = re.compile(r"\s+")


_LAZY = re.compile(r"^(?:js-)?(?:lazy|lozad|b-lazy)[\w-]*$|^[\w-]*[_-]lazy(?:load(?:ed|ing)?)?$", re.I)


def clean_class(name: str) -> str:
    """Names that build tools make up (`Card_title__x8Kd2`, `css-1q2w3e`) without the made-up part; none for those
    that only say when a picture is loaded."""
    return "" if _LAZY.match(name) else _BUILT.sub("", name)


def clean_field(name: str) -> str:
    return _RANDOM.sub("", name)


def skeleton(script: str) -> str:
    """The beginning of a script without its literals: data, tokens and moments go, the program stays."""
    return _SPACE.sub("", _LITERAL.sub("", script[:SCRIPT]))


# Advertisements in the page itself; names that also mean content (`ad`, `anuncio`, `banner`) are for a site's rules

_AD_NAMES = """
    ad-slot adslot ad-unit adunit ad-container ad-wrapper ad-banner adbanner banner-ad bannerad advertisement
    advertisements advertising publicidad publicite publicidade pubblicita werbung sponsored
"""
_AD_SIGNS = {  # what must occur in a page for a selector to find something
    "adsbygoogle": ".adsbygoogle",
    "gpt-ad": '[id*="gpt-ad"]',
    "google_ads": '[id^="google_ads"]',
    "taboola": '[id^="taboola"]',
    "OUTBRAIN": ".OUTBRAIN",
    **{name: f".{name},#{name}" for name in _AD_NAMES.split()},
}
_ADVERTISED = native.Signs([sign.encode() for sign in _AD_SIGNS])


def advertisements(data: bytes) -> str:
    """A selector for the advertisements in a page; empty when it has none we know."""
    if not _ADVERTISED.are_in(data):
        return ""
    return ",".join(selector for sign, selector in _AD_SIGNS.items() if sign.encode() in data)


# What hangs over a page or in its masthead and belongs to the visit: consent to cookies, the weather, a clock

_CONSENT_NAMES = (
    "cookie consent gdpr rgpd onetrust didomi cybot cc-window cc-banner cmp-container qc-cmp truste tarteaucitron"
)
_MASTHEAD_NAMES = (
    "weather wetter meteo clima el-tiempo clock reloj current-time current-date hora-actual fecha-actual fecha-hoy"
)
_CONSENT = ",".join(f'[id*="{name}" i],[class*="{name}" i],[aria-label*="{name}" i]' for name in _CONSENT_NAMES.split())
_MASTHEAD = ",".join(f'[id*="{name}" i],[class*="{name}" i]' for name in _MASTHEAD_NAMES.split())
_VISITED = native.Signs(f"{_CONSENT_NAMES} {_MASTHEAD_NAMES}".encode().split())
_ASKS = re.compile(
    r"\bcookies?\b.*\b(?:acepta|accept|rechaz|reject|consent|polític|polic|prefer|configur|agree|privac|allow|permit)"
    r"|\bcookies?\b.*\b(?:akzept|zustimm|ablehn|einstell|datenschutz|refus|confident|aceitar|recus|rifiut"
    r"|impostazion|informativ)"
    r"|\b(?:acepta|accept|rechaz|reject|consent|agree|allow|permit|akzept|refus|aceitar|rifiut).*\bcookies?\b",
    re.I | re.S,
)
_ASKS_PRIVACY = re.compile(  # of parts that call themselves so, where the word cookie need not fall
    r"\b(?:privacy|personal data|partners|privacidad|datos personales|socios|datenschutz|partnern?|vie privée"
    r"|partenaires"
    r"|privacidade|dati personali)\b.*\b(?:acepta|accept|rechaz|reject|consent|agree|manage|options|settings|preferenc"
    r"|configur|opciones|akzept|einwillig|einstellungen|refus|préféren|aceitar|rifiut|device|dispositivo|gerät|appareil|terminal)",
    re.I | re.S,
)
_ACCEPTS = re.compile(
    r"\W*(?:(?:aceptar?|acepto|accept|agree|allow|permitir)\b.{0,30}|i agree|ok|okay|vale|entendido|de acuerdo|got it"
    r"|close|cerrar|continue|continuar|(?:alle |alles )?(?:akzeptieren|zustimmen)|verstanden|einverstanden"
    r"|(?:tout )?accepter"
    r"|j['’]accepte|d['’]accord|aceitar(?: tudo)?|entendi|accett[ao](?: tutt[io])?|ho capito|d['’]acord)\W*",
    re.I,
)
_USES_COOKIES = re.compile(
    r"\b(?:we|(?:web)?site|pages?|app|service|sitio|web|página|portal)\b.{0,40}\b(?:use|uses|using|usa|utiliza|emplea)"
    r"\b.{0,80}\bcookies\b|\b(?:usamos|utilizamos|empleamos|nous utilisons|utilizziamo|usiamo)\b.{0,80}\bcookies\b"
    r"|\b(?:website|webseite|seite|wir)\b.{0,40}\b(?:verwende[nt]|nutz(?:t|en)|setz(?:t|en))\b.{0,80}\bcookies\b"
    r"|\b(?:site|page|service|sito|pagina)\b.{0,40}\b(?:utilise|utilizza|usa)\b.{0,80}\bcookies?\b",
    re.I | re.S,
)


def visit_parts(data: bytes) -> tuple[str, str]:
    """Selectors for what may be a banner that asks for consent (`asks_consent` tells by its text), and for what may be
    a clock or the weather in a masthead; empty when the page has neither."""
    return (_CONSENT, _MASTHEAD) if _VISITED.are_in(data.lower()) else ("", "")


def asks_consent(text: str) -> bool:
    return any(asks.search(text) for asks in (_ASKS, _ASKS_PRIVACY)) or tells_of_cookies(text)


def accepts(text: str) -> bool:
    """Whether that is what stands on the button of a banner, or on the link that serves as one."""
    return len(text) <= 50 and _ACCEPTS.fullmatch(text) is not None


def tells_of_cookies(text: str) -> bool:
    """Whether it says in so many words that the site uses them, as banners do."""
    return _USES_COOKIES.search(text) is not None
