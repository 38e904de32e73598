"""Templates and style sheet, read as text: what the policy forbids is absent, and colours can be told apart."""

import re
from itertools import product
from pathlib import Path

from hemeroteca import console

CONSOLE = Path(console.__file__).parent


def test_templates_hold_no_inline_scripts_styles_or_handlers():
    for file in (CONSOLE / "templates").rglob("*.html"):
        source = file.read_text()
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=", source), file


def test_the_colours_have_enough_contrast_in_both_schemes():
    """WCAG 2.2 AA: 4.5 to 1 for text, from the sheet itself."""
    sheet = (CONSOLE / "static/console/console.css").read_text()
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#\w+)", block)) for block in re.findall(r":root \{(.*?)\}", sheet, re.S)
    )
    for scheme in (light, light | dark):
        pairs = product(("ink", "dim", "link", "good", "warn", "bad"), ("paper", "sheet", "shade"))
        for text, ground in [*pairs, ("accent-ink", "accent"), ("ink", "mark")]:
            assert contrast(scheme[text], scheme[ground]) >= 4.5, (text, ground, scheme[text], scheme[ground])


def test_who_reads_in_the_dark_prints_on_white_paper():
    sheet = (CONSOLE / "static/console/console.css").read_text()
    dark = [found.start() for found in re.finditer("--paper: #191816", sheet)]
    assert len(dark) == 2
    for place in dark:
        assert sheet.rfind("@media screen", 0, place) > sheet.rfind("\n}", 0, place)


def contrast(one, other):
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour):
    digits = colour.lstrip("#")
    digits = "".join(digit * 2 for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
