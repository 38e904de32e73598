"""What fees, access constraints and licence statements mean: a name of SPDX or of its publisher, or `unknown`."""

import re

_TABLE = (  # the first that matches; more special ones first
    (r"creativecommons\.org/publicdomain/zero|\bcc[\s_-]?(?:zero|0)\b", "CC0-1.0"),
    (
        r"creativecommons\.org/publicdomain/mark|\bpublic[\s-]domain\b|dominio p[uú]blico|domaine public",
        "public-domain",
    ),
    (r"\bcc[\s_-]?by[\s_-]nc[\s_-]nd\b|licenses/by-nc-nd", "CC-BY-NC-ND"),
    (r"\bcc[\s_-]?by[\s_-]nc[\s_-]sa\b|licenses/by-nc-sa", "CC-BY-NC-SA"),
    (r"\bcc[\s_-]?by[\s_-]nc\b|licenses/by-nc\b", "CC-BY-NC"),
    (r"\bcc[\s_-]?by[\s_-]nd\b|licenses/by-nd\b", "CC-BY-ND"),
    (r"\bcc[\s_-]?by[\s_-]sa\b|licenses/by-sa\b", "CC-BY-SA"),
    (r"\bcc[\s_-]?by\b|licenses/by\b|creative commons (?:attribution|reconocimiento|namensnennung)", "CC-BY"),
    (r"odbl|opendatacommons\.org/licenses/odbl|open database licen[cs]e", "ODbL-1.0"),
    (r"odc[\s_-]by|opendatacommons\.org/licenses/by", "ODC-By-1.0"),
    (r"pddl|opendatacommons\.org/licenses/pddl", "PDDL-1.0"),
    (r"dl-de[/-]zero", "DL-DE-ZERO-2.0"),
    (r"dl-de[/-]by", "DL-DE-BY-2.0"),
    (r"open government licen[cs]e|nationalarchives\.gov\.uk/doc/open-government", "OGL"),
    (r"licence ouverte|etalab|open licence", "etalab"),
    (r"nlod|norsk lisens for offentlige data", "NLOD"),
    (r"iodl", "IODL"),
    (r"copernicus.{0,80}(?:free|open)|free.{0,40}copernicus", "copernicus"),
    (
        r"no ?conditions? ?(?:to access and use )?appl(?:y|ies)|noconditionsapply"
        r"|no limitations? (?:on|to) public access"
        r"|sin condiciones|keine (?:bedingungen|einschr[äa]nkungen)|aucune condition",
        "no-conditions",
    ),
)
_VERSION = re.compile(r"\b([1-4]\.[05])\b")
_NONE = re.compile(r"\s*(?:none|no|ninguno|ninguna|keine|aucune?|geen|nessuna?|free|gratis|0|-|nil|null)?[\s.]*", re.I)


def licence(*statements: str) -> str:
    """Of what a service says of fees, constraints and licences; `none` alone says nothing of what one may do."""
    text = " \n".join(statements)[:20_000]
    if all(_NONE.fullmatch(statement) for statement in statements):
        return "unknown"
    for pattern, name in _TABLE:
        if match := re.search(pattern, text, re.I | re.S):  # compiled when one is met: few crawls meet any
            if name.startswith("CC-BY") and (number := _VERSION.search(text, match.start(), match.end() + 40)):
                return f"{name}-{number[1]}"
            return name
    return "unknown"
