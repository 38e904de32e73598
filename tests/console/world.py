"""A small archive made with the real parts: two sites, versions, a hostile page, failures, an engine at work."""

import time

from hemeroteca import extract, urls, warc
from hemeroteca.accounts import SYSTEM
from hemeroteca.archive import services as archive
from hemeroteca.archive.capture_rows import NewCapture
from hemeroteca.frontier import services as frontier
from hemeroteca.frontier.models import Crawl, Host, Page, QueuedVisit
from hemeroteca.frontier.visit import State
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.instance.status import EngineStatus, Trouble, write_engine_status
from hemeroteca.search.index import open_index
from hemeroteca.warc.writer import WarcWriter
from tests.warc.making import exchange
from tests.warc.making import revisit as revisit_of

NOW = 1_763_200_000_000
BREAD = "https://diario.example/economia/pan"
HARBOUR = "https://news.example/harbour"
HOSTILE = "https://evil.example/x"
ATTACK = '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'

ARTICLE = """<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>{title}</title></head>
<body><nav><a href="/">Home</a></nav><main><h1>{title}</h1>{body}</main></body></html>"""
SPANISH = (
    "<p>El precio del pan subió ayer en los mercados de la ciudad por tercera vez este año.</p>"
    "<p>Los panaderos dicen que la harina cuesta el doble que hace doce meses y que no pueden esperar más.</p>"
)
ENGLISH = (
    "<p>The harbour was closed on Monday after a storm moved the lighthouse ship off its anchor.</p>"
    "<p>Fishermen waited on the quay until the evening, when the wind finally turned to the east.</p>"
)


class World:
    """Fills the database and the folders of an instance."""

    def __init__(self, instance):
        self.instance = instance
        instance.create()
        self.crawl, _ = frontier.submit_crawl(SYSTEM, ["https://diario.example/"], CrawlOptions(scope=urls.Scope()))
        self.writer = WarcWriter(instance.warc_dir)
        self.captures = {}

    def page(self, url, state=State.DONE, reason="", status=200, versions=1):
        host, _ = Host.objects.get_or_create(name=urls.host(url))
        Host.objects.filter(pk=host.pk).update(pages=host.pages + 1)
        page = Page.objects.create(
            key=urls.key(url), url=url, host=host, status=status, versions=versions,
            found_ms=NOW, visited_ms=NOW if status else 0, changed_ms=NOW if status else 0,
        )  # fmt: skip
        QueuedVisit.objects.create(crawl=self.crawl, page=page, host=host, state=state, reason=reason)
        return page

    def capture(self, page, body, ms, content_type="text/html; charset=utf-8", original=None):
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        asked = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        if original is None:
            records = exchange(page.url, ms, "192.0.2.1", "http/1.1", asked, head, body)
        else:
            repeated = warc.Original(original.record_id, original.url, original.captured_ms, original.digest)
            records = revisit_of(page.url, ms, "192.0.2.1", "http/1.1", asked, head, repeated, len(body))
        name, offset = self.writer.append(records.data)
        self.writer.sync()
        row = NewCapture(
            record_id=records.main.record_id, url=page.url, captured_ms=ms, status=200,
            mime=content_type.partition(";")[0], digest=records.digest, kind="revisit" if original else "response",
            version=original is None, warc_name=name, offset=offset, length=records.main.length, body_size=len(body),
            page_id=page.pk, crawl_id=self.crawl.pk, refers_to=original.record_id if original else None,
        )  # fmt: skip
        archive.insert_captures([row], self.writer.sizes())
        self.captures.setdefault(page.url, []).append(row)
        return row

    def index(self, *articles):
        writer = open_index(None, self.instance.index_dir).writer(15_000_000)
        for page, body, language in articles:
            document = extract.read(body, "text/html; charset=utf-8", page.url)
            writer.put(
                SearchDocument(
                    key=page.key,
                    url=page.url,
                    title=document.title,
                    text=document.text,
                    host=urls.host(page.url),
                    language=language,
                    captured_ms=NOW,
                )
            )
        writer.commit()
        writer.close()

    def engine(self, pages_per_second=42.0):
        """Figures of an engine that is at work for as long as a test takes: old ones would count as none."""
        now = int(time.time() * 1000)
        troubles = [Trouble(now, "https://slow.example/", f"timeout after 120 s {ATTACK}")]
        last = now + 3_600_000
        figures = EngineStatus(1, now - 60_000, last, pages_per_second, active=3, queued=17, troubles=troubles)
        write_engine_status(self.instance, figures)


def article(title, body, language="es"):
    return ARTICLE.format(title=title, body=body, language=language).encode()


def build(instance):
    world = World(instance)
    bread, harbour, hostile = (world.page(url, versions=2) for url in (BREAD, HARBOUR, HOSTILE))
    old, new = article("El precio del pan", SPANISH), article("El precio del pan sube otra vez", SPANISH * 2)
    world.capture(bread, old, NOW - 86_400_000)
    latest = world.capture(bread, new, NOW)
    world.capture(bread, new, NOW + 3_600_000, original=latest)
    storm = article("Storm closes the harbour", ENGLISH, "en")
    world.capture(harbour, storm, NOW)
    attack = article(
        "Harbour &lt;script&gt;window.hacked=1&lt;/script&gt; &quot;&gt;&lt;img src=x onerror=window.hacked=1&gt;",
        "<script>window.hacked=1;parent.hacked=1;top.hacked=1</script>"
        "<p>harbour &lt;script&gt;window.hacked=1&lt;/script&gt; &lt;img src=x onerror=window.hacked=1&gt;</p>"
        "<img src=x onerror='top.hacked=1'><form action='/sign-out' method='post'><button>Go</button></form>",
        "en",
    )
    world.capture(hostile, attack, NOW)
    world.page("https://diario.example/roto", State.FAILED, "http-500 after 3 tries", 500, 0)
    world.page("https://diario.example/privado", State.EXCLUDED, "robots.txt: Disallow: /privado", 0, 0)
    world.page(f"https://evil.example/{'a' * 30}", State.FAILED, f"dns: {ATTACK}", 0, 0)
    world.page("https://diario.example/espera", State.QUEUED, "", 0, 0)
    Host.objects.filter(name="evil.example").update(
        next_ms=int(time.time() * 1000) + 3_600_000, delay_ms=30_000, failures=4, note=f"http-503 {ATTACK}"
    )
    Crawl.objects.update(counts={"pages": 3, "versions": 4, "failed": 2, "bytes": 12345, "reasons": {ATTACK: 2}})
    world.index((bread, new, "es"), (harbour, storm, "en"), (hostile, attack, "en"))
    world.engine()
    return world
