"""Names of languages as people and files write them."""

import re


def code_of(language: str) -> str:
    """ISO 639-1 of what people write: es, es-VE, spa, Spanish, español."""
    language = re.split(r"[-_]", language.strip().lower())[0]
    return _CODES.get(language, language if len(language) == 2 else "")


_CODES = {
    name: code
    for code, names in {
        "ar": "ara arabic árabe",
        "ca": "cat catalan catalán català",
        "da": "dan danish danés",
        "de": "deu ger german alemán deutsch",
        "el": "ell gre greek griego",
        "en": "eng english inglés ingles",
        "es": "spa spanish español espanol castellano",
        "fi": "fin finnish finés",
        "fr": "fra fre french francés français",
        "hu": "hun hungarian húngaro",
        "it": "ita italian italiano",
        "ja": "jpn japanese japonés",
        "ko": "kor korean coreano",
        "nl": "nld dut dutch neerlandés",
        "no": "nor nob nno nb nn norwegian noruego",
        "pt": "por portuguese portugués português",
        "ro": "ron rum romanian rumano",
        "ru": "rus russian ruso",
        "sv": "swe swedish sueco",
        "th": "tha thai tailandés",
        "tr": "tur turkish turco",
        "zh": "zho chi chinese chino",
    }.items()
    for name in names.split()
}
