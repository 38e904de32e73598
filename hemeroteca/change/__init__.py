"""How two versions of a page differ: in view, form and content; whether it matters; and how to show it.

Pure: values in, values out; no clock, no network, no files. Any bytes are a page: nothing in here raises for what a
body holds, and time and memory are bounded. Noise (clocks, counters, tokens, advertisements) is put aside before
comparing, never hidden by a high threshold. How it is measured: docs/explanation/change.md.
"""

from typing import TYPE_CHECKING

from hemeroteca.lazy import lazily

if TYPE_CHECKING:
    from hemeroteca.change.comparison import Comparison, compare
    from hemeroteca.change.diffs import Row, side_by_side, text_diff
    from hemeroteca.change.highlight import highlighted_page
    from hemeroteca.change.judgement import Judgement
    from hemeroteca.change.noise_model import NoiseModel, NoiseSighting, sightings
    from hemeroteca.change.report import as_json, pdf_report
    from hemeroteca.change.site_rules import ChangeRules, RulesError, check
    from hemeroteca.change.snapshot import Snapshot
else:
    __getattr__ = lazily(
        __name__,
        comparison="Comparison compare",
        diffs="Row side_by_side text_diff",
        highlight="highlighted_page",
        judgement="Judgement",
        noise_model="NoiseModel NoiseSighting sightings",
        report="as_json pdf_report",
        site_rules="ChangeRules RulesError check",
        snapshot="Snapshot",
    )

__all__ = [
    "ChangeRules",
    "Comparison",
    "Judgement",
    "NoiseModel",
    "NoiseSighting",
    "Row",
    "RulesError",
    "Snapshot",
    "as_json",
    "check",
    "compare",
    "highlighted_page",
    "pdf_report",
    "side_by_side",
    "sightings",
    "text_diff",
]  # fmt: skip
