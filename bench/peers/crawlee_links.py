"""Crawlee for Python (Parsel crawler), following links of one site. Prints the number of pages.

Its queue is in memory (on disk, as it is by itself, a page costs it twice as much) and it may not slow down by itself.

python crawlee_links.py http://127.0.0.1:PORT/ MAX_PAGES
"""

import asyncio
import logging
import sys

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient

pages = 0


async def main() -> None:
    logging.disable(logging.CRITICAL)
    crawler = ParselCrawler(
        max_requests_per_crawl=int(sys.argv[2]),
        concurrency_settings=ConcurrencySettings(min_concurrency=16, max_concurrency=16, desired_concurrency=16),
        storage_client=MemoryStorageClient(),
    )

    @crawler.router.default_handler
    async def handle(context: ParselCrawlingContext) -> None:
        global pages
        pages += 1
        await context.enqueue_links(strategy="same-origin")

    await crawler.run([sys.argv[1]])
    print("pages", pages)


asyncio.run(main())
