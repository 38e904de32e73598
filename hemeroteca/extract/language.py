"""Which language a text is in: its little words, with what the page declares as a hint.

Little words (the, que, und) settle it even in one sentence, where statistics of letters fail; they are known for the
European languages below. Other scripts and languages go to resiliparse's detector, which needs a longer text. What
pages declare is a hint, not an answer: templates carry `lang="en"` into texts of any language.
"""

import re

from resiliparse.parse.lang import detect_fast

LOOKED_AT = 600  # characters
MIN_FOR_STATISTICS = 150  # characters
SURE = 0.9  # points that settle it without a declaration
AHEAD = 1.2  # times the points of the next language
_LETTER = 0.2  # of the points of a word, for a letter that is none alone
_CONSONANTS = frozenset("bcdfghjklmnpqrstvwxz")
_MAX_DISTANCE = 1200  # of statistics of letters from those of a language
HINT = 1.5  # a declared language is this much more likely

_LITTLE_WORDS = {
    "es": "el la los las un una de del que y en a por con para se su sus no es lo como más pero al o este esta si ya "
    "cuando sin sobre también hasta hay donde desde todo nos durante muy ha ser son fue han puede entre está le me "
    "qué porque esto antes algunos unos yo otro otras otra él ese eso usted debe sólo solo así según tiene",
    "ca": "el la els les un una de del dels que i en a per amb es no és com més però al als o aquest aquesta aquests "
    "si ja quan sense sobre també fins on des tot ens durant molt ha ser són van pot entre està li em perquè això "
    "altres només així segons té seva seu hi ho pel pels ser d l s n qual uns aquestes cap",
    "gl": "o a os as un unha de do da dos das que e en no na nos nas por con para se seu súa non é como máis pero ao á "
    "ou este esta xa cando sen sobre tamén ata hai onde desde todo moi ser son foi pode entre está polo pola ten "
    "teñen dun dunha isto só segundo outros outras",
    "pt": "o a os as um uma de do da dos das que e em no na nos nas por com para se seu sua não é como mais mas ao à "
    "ou este esta já quando sem sobre também até há onde desde todo muito ser são foi pode entre está pelo pela tem "
    "têm num numa isto só segundo outros outras você ele eles isso aos às foram deve esse essa",
    "fr": "le la les un une de du des que et en à par avec pour se son ses ne pas est ce comme plus mais au aux ou "
    "cette si quand sans sur aussi dans où tout nous vous très être sont fut peut entre il elle ils qui leur même deux "
    "ces cet d l qu n s c j été sa peuvent doit votre fait",
    "it": "il lo la gli le un una di del della dei delle che e in a per con si suo sua non è come più ma al o questo "
    "questa se già quando senza su anche fino dove da dal tutto noi molto essere sono fu può tra nel nella alla "
    "ha ci i l d dell nell sul sulla degli alle dalla deve possono loro ogni stato stata",
    "ro": "și de la în a o un cu pe nu este care din pentru mai sau prin ca să au fost dar după între ce se sunt fi al "
    "ale lui iar când fără despre până toate acest această acestea poate trebuie cele cei cel unei unui",
    "en": "the of and to in a is that for it as was with be by on not he his but at are this have from or had an they "
    "which you were her all she there would their we him been has when who will no if out so what up about into "
    "than its can only other do may must should your these any also does how where while such",
    "de": "der die das und in den von zu mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er "
    "hat dass daß sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor "
    "zur bis mehr durch man sein wurde kann wenn diese dieser dieses muss müssen können ihre ihr wir ich",
    "nl": "de het een en van in is dat op te met voor zijn niet aan er om ook als dan maar bij of uit nog naar door "
    "over ze zich hij worden kan wordt deze dit die heeft was werd moet geen meer tot al je we hebben worden andere",
    "sv": "och i att en det som på är av för med den till inte om ett han men var jag sig från vi så kan när hon hade "
    "eller ska du har de detta måste där efter upp också än vid mot blir under denna finns alla mellan",
    "da": "og i at en det som på er af for med den til ikke om et han men var jeg sig fra vi så kan når hun havde "
    "eller skal du har de dette må der efter op også end ved mod bliver under denne findes alle mellem hvor blev kun",
    "no": "og i at en det som på er av for med den til ikke om et han men var jeg seg fra vi så kan når hun hadde "
    "eller skal du har de dette må der etter opp også enn ved mot blir under denne finnes alle mellom hvor ble være",
    "pl": "i w na z do się nie to że jest o jak po co od za przez dla ale jego czy tym tego już są być lub może przed "
    "które który która oraz tylko tak jeśli można przy jej ich bez pod nad jako ten ta te musi należy został",
    "cs": "a v se na je že s z do o k i to jako za po pro ale by jeho jsou které který která nebo však být byl byla "
    "bylo jen tak jak aby může od při ve si není musí podle více také už když až tento tato toto mezi bez",
    "eu": "eta da ez du dira baino bat ere dute izan egin dela zen den bere ditu edo baina zuen beste hau hori egiten "
    "behar hori oso gero bere artean duen dituzte diren izango dezake dago nahi bezala arte guztiak ezin baten batean",
}
_NAMES = tuple(_LITTLE_WORDS)


def _weighted() -> dict[str, tuple[tuple[int, float], ...]]:
    """Each word with its languages; a word that many share says less, and a letter (`l'eau`, `C library`) little."""
    owners: dict[str, list[int]] = {}
    for number, text in enumerate(_LITTLE_WORDS.values()):
        for word in sorted(set(text.split())):
            owners.setdefault(word, []).append(number)
    return {
        word: tuple((number, (_LETTER if word in _CONSONANTS else 1) / len(numbers)) for number in numbers)
        for word, numbers in owners.items()
    }


_POINTS: dict[str | bytes, tuple[tuple[int, float], ...]] = {
    form: points for word, points in _weighted().items() for form in (word, word.encode())
}
_WITH_POINTS = frozenset(_POINTS)
_WORD = re.compile(r"[^\W\d_]+")
_ASCII_WORDS = bytes(byte | 32 if chr(byte).isalpha() and byte < 128 else 32 for byte in range(256))
_CAPITALS = re.compile("[A-Z]")
_CODE = re.compile(r"[a-z]{2,3}(?=$|[-_,; ])")
_SCRIPTS = [  # letters: compiled when a text in one of them is met
    ("[\u3040-\u30ff]", ["ja"]),
    ("[\u4e00-\u9fff]", ["zh"]),
    ("[\uac00-\ud7af]", ["ko"]),
    ("[\u0400-\u04ff]", ["ru", "uk", "bg", "sr", "be", "mk", "kk", "mn"]),
    ("[\u0370-\u03ff]", ["el"]),
    ("[\u0590-\u05ff]", ["he", "yi"]),
    ("[\u0600-\u06ff]", ["ar", "fa", "ur"]),
    ("[\u0900-\u097f]", ["hi", "mr", "ne"]),
    ("[\u0980-\u09ff]", ["bn", "as"]),
    ("[\u0b80-\u0bff]", ["ta"]),
    ("[\u0e00-\u0e7f]", ["th"]),
    ("[\u0530-\u058f]", ["hy"]),
    ("[\u10a0-\u10ff]", ["ka"]),
]
_ALIASES = {"nb": "no", "nn": "no", "iw": "he", "in": "id", "ji": "yi"}
_ALIASES |= {"spa": "es", "eng": "en", "cat": "ca", "por": "pt"}


def detect(text: str, declared: str = "") -> str:
    """Two-letter code, or empty. `declared`: <html lang>, Content-Language or a feed's language; may be anything."""
    hint = code(declared)
    sample = text[:LOOKED_AT]
    words: set[str | bytes]
    if sample.isascii():  # the same words, five times as fast
        words = set(sample.encode().translate(_ASCII_WORDS).split())
    else:
        sample = sample.lower()
        if len(sample.encode("utf-8", "replace")) > 1.35 * len(sample):  # hardly any Latin letters
            return _by_script(sample, hint)
        words = set(_WORD.findall(sample))
    points = [0.0] * len(_NAMES)
    for word in words & _WITH_POINTS:
        for number, weight in _POINTS[word]:
            points[number] += weight
    if hint in _NAMES:
        points[_NAMES.index(hint)] *= HINT
    best = max(points)
    if best >= SURE and best * 30 > len(words):
        number = points.index(best)
        points[number] = 0
        if best >= AHEAD * max(points):
            return _NAMES[number]
    if hint:
        return hint
    if len(text) >= MIN_FOR_STATISTICS:
        name, _ = detect_fast(_in_small_letters(text[: 4 * LOOKED_AT]))
        if name not in ("unknown", "en", "la"):  # what it says of lists and code
            return str(name)
    return ""


def by_statistics(text: str) -> str:
    """By its letters alone, for many texts together that have no little words; empty where they fit no language."""
    name, distance = detect_fast(_in_small_letters(text))
    return str(name) if name != "unknown" and distance < _MAX_DISTANCE else ""


def _in_small_letters(text: str) -> str:
    """Of what is written in capitals statistics know nothing: they take English for Chinese."""
    return text.lower() if len(_CAPITALS.findall(text)) > len(text) // 3 else text


def _by_script(sample: str, hint: str) -> str:
    counts = [len(re.findall(letters, sample)) for letters, _ in _SCRIPTS]
    counts[0] *= 5  # Japanese writes more Chinese signs than its own
    most = max(counts)
    if most < 3:
        return hint
    languages = _SCRIPTS[counts.index(most)][1]
    if len(languages) == 1 or hint in languages:
        return hint if hint in languages else languages[0]
    name, _ = detect_fast(sample, cutoff=3000, langs=languages)
    return str(name) if name in languages else languages[0]


def code(declared: str) -> str:
    """`es` of `es-VE`, `ES_es` or `es, en`."""
    match = _CODE.match(declared.strip().lower()[:20])
    if not match:
        return ""
    return _ALIASES.get(match[0], match[0] if len(match[0]) == 2 else "")
