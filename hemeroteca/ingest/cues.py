"""What a capture is to the focus of its crawl: its relevance, whether it is a target, and the cues of its links."""

from hemeroteca import extract
from hemeroteca.focus.definition import CompiledFocus, PageFocus
from hemeroteca.focus.relevance import LinkText, Relevance
from hemeroteca.focus.targets import ReadDocument, target_of
from hemeroteca.ingest.ingested import Ingested
from hemeroteca.urls.candidate import Cues, UrlRole
from hemeroteca.warc import Capture

FIND = "focus"


class FocusReader:
    """Reads the pages of a crawl with a focus."""

    def __init__(self, focus: CompiledFocus) -> None:
        self._relevance = Relevance(focus)
        self._targets = focus.definition.targets
        self._wants_root = any(target.root for target in self._targets)
        self._limits = extract.Limits(context_chars=focus.definition.tuning.context)

    def read(self, raw: bytes, media_type: str, url: str, language: str) -> extract.Document:
        """As `extract.read`, with the text around each link."""
        return extract.read(raw, media_type, url, limits=self._limits, content_language=language, want_context=True)

    def judge(self, document: extract.Document, raw: bytes, media_type: str, url: str, result: Ingested) -> None:
        """Leave the find: how relevant the page is, and which target."""
        relevance = (
            self._relevance.page(f"{document.title}\n{document.main}") if document.main or document.title else 0.0
        )
        read = ReadDocument(
            url=url,
            kind=document.kind,
            media_type=document.media_type,
            root=extract.Content(raw, media_type, url).root if self._wants_root else "",
            finds=result.finds.keys(),
            text=document.main,
            relevance=relevance,
        )
        result.add_find(FIND, PageFocus(round(relevance, 4), target_of(self._targets, read)))

    def add_cues(self, capture: Capture, result: Ingested) -> None:
        """Give each link what its anchor, its context and its address are to the focus."""
        found = result.find(FIND, PageFocus)
        page = found.relevance if found is not None else 0.0
        links = [candidate for candidate in result.candidates if candidate.role == UrlRole.PAGE]
        cues = self._relevance.links([LinkText(link.url, link.anchor, link.context) for link in links])
        for place, (link, cue) in enumerate(zip(links, cues, strict=True)):
            link.cues = Cues(
                page=page,
                anchor=cue.anchor,
                context=cue.context,
                address=cue.address,
                place=place,
                parent_url=capture.url,
                away=cue.away,
            )
