"""Scrapy, following links of one site and nothing else. Prints the number of pages and of their bytes.

python scrapy_links.py http://127.0.0.1:PORT/ [unique] [pages=N] [only=FILE]

What costs it time and serves nothing here is off, as its manual advises for large crawls; robots.txt is obeyed, as by
us. Its own ways to follow links (LinkExtractor, `follow_all`) take longer than this. With `unique` the spider makes no
request for a link that the same page has twice, but for its fragment: Scrapy's filter of duplicates finds
them as well, but that is most of what a page costs it. With `pages=N` it stops after about so many; with `only=FILE` it
visits the addresses in that file only, one a line, but looks at every link of their pages as always.
"""

import sys
from pathlib import Path

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.dupefilters import RFPDupeFilter

UNIQUE = "unique" in sys.argv[2:]
LIMIT = next((int(word.removeprefix("pages=")) for word in sys.argv[2:] if word.startswith("pages=")), 0)
ONLY = next((word.removeprefix("only=") for word in sys.argv[2:] if word.startswith("only=")), "")
WANTED = frozenset(Path(ONLY).read_text().split()) if ONLY else frozenset()


class Wanted(RFPDupeFilter):
    """Scrapy's filter of duplicates, which refuses other pages too, at the price of asking it."""

    def request_seen(self, request):
        return super().request_seen(request) or request.url.partition("#")[0] not in WANTED


class Links(scrapy.Spider):
    name = "links"
    custom_settings = {
        "LOG_LEVEL": "ERROR",
        "ROBOTSTXT_OBEY": True,
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
        "TELNETCONSOLE_ENABLED": False,
        "HTTPCACHE_ENABLED": False,
        "COOKIES_ENABLED": False,
        "RETRY_ENABLED": False,
        "REFERER_ENABLED": False,
        "MEMUSAGE_ENABLED": False,
        "LOGSTATS_INTERVAL": 0,
        "CLOSESPIDER_PAGECOUNT": LIMIT,  # 0: no limit
        **({"DUPEFILTER_CLASS": Wanted} if ONLY else {}),
    }
    pages = size = 0

    def start_requests(self):
        yield scrapy.Request(sys.argv[1])

    async def start(self):
        yield scrapy.Request(sys.argv[1])

    def parse(self, response):
        Links.pages += 1
        Links.size += len(response.body)
        if not hasattr(response, "xpath"):
            return
        hrefs = response.xpath("//a/@href").getall()
        for href in dict.fromkeys(href.partition("#")[0] for href in hrefs) if UNIQUE else hrefs:
            url = response.urljoin(href)
            if url.startswith(sys.argv[1]):
                yield scrapy.Request(url)


process = CrawlerProcess()
process.crawl(Links)
process.start()
print("pages", Links.pages)
print("bytes", Links.size)
