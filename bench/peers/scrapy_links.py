"""Scrapy, following links of one site and nothing else. Prints the number of pages.

python scrapy_links.py http://127.0.0.1:PORT/
"""

import sys

import scrapy
from scrapy.crawler import CrawlerProcess


class Links(scrapy.Spider):
    name = "links"
    custom_settings = {
        "LOG_LEVEL": "ERROR",
        "ROBOTSTXT_OBEY": True,
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
        "TELNETCONSOLE_ENABLED": False,
    }
    pages = 0

    def start_requests(self):
        yield scrapy.Request(sys.argv[1])

    async def start(self):
        yield scrapy.Request(sys.argv[1])

    def parse(self, response):
        Links.pages += 1
        if not hasattr(response, "xpath"):
            return
        for href in response.xpath("//a/@href").getall():
            url = response.urljoin(href)
            if url.startswith(sys.argv[1]):
                yield scrapy.Request(url)


process = CrawlerProcess()
process.crawl(Links)
process.start()
print("pages", Links.pages)
