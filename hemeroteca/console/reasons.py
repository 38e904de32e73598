"""Why a page was not captured, or how a crawl ended, in the reader's language.

Codes of visits are told by `frontier.reasons`; sentences the engine writes itself are known here by their shape.
"""

from django.utils.translation import gettext_noop

from hemeroteca.console.refusals import shapes, translated
from hemeroteca.frontier.reasons import sentence

# Sentences the engine writes itself: of the end of a crawl, of its log, of what is held back.
SHAPES = shapes(
    [
        gettext_noop("interrupted"),
        gettext_noop("stopped by a person"),
        gettext_noop("the engine was stopped"),
        gettext_noop("limit of %s pages reached"),
        gettext_noop("limit of %s bytes reached"),
        gettext_noop("limit of %s seconds reached"),
        gettext_noop("all hosts left ask to be left alone until %s"),
        gettext_noop("%s addresses are held back as a possible trap"),
        gettext_noop("%s addresses that were held back"),
        gettext_noop("%s addresses that were held back: %s"),
        gettext_noop("trap: pages like %s bring nothing new"),
        gettext_noop("trap: the pages that lead there all say the same"),
        gettext_noop("%s trap: pages like %s bring nothing new"),
        gettext_noop("again, after crawl %s"),
        gettext_noop("%s (%s addresses left the queue)"),
        gettext_noop("%s pages, %s failed"),
        gettext_noop("%s pages, %s failed; %s"),
        gettext_noop("excluded by %s"),
    ]
)


def said(reason: str) -> str:
    return translated(reason, SHAPES) or sentence(reason)
