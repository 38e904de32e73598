"""The process that reads one PDF: body on standard input, a line of JSON per fact on standard output.

Run by `pdf.py`, by path, so that nothing else of the project is loaded. Each page is written as soon as it is read:
when a limit ends the process, what came before is not lost.
"""

import ctypes
import json
import resource
import sys
import time
from typing import Any


def main() -> None:
    """Arguments: most pages, seconds of processor time, characters, links, bytes of memory."""
    pages, seconds, characters, links, memory = map(int, sys.argv[1:6])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds + 1, seconds + 2))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    import pypdfium2

    body = sys.stdin.buffer.read()
    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        say(note="pdf-encrypted" if "password" in str(error).lower() else "pdf-damaged")
        return
    facts = document.get_metadata_dict()
    say(title=facts.get("Title", "")[:2000], author=facts.get("Author", "")[:2000], created=facts["CreationDate"][:60])
    for number in range(len(document)):
        if number >= pages:
            say(note="pages-cut")
            break
        if time.process_time() > seconds:
            say(note="pdf-timeout")
            break
        try:
            page = document[number]
            part = page.get_textpage()
            text = part.get_text_bounded()
            found = addresses(pypdfium2.raw, document, page, min(links, 2000))
            part.close()
            page.close()
        except pypdfium2.PdfiumError:
            say(note="pdf-damaged")
            continue
        links -= len(found)
        say(text=text[:characters], links=found)
        characters -= len(text)
        if characters <= 0:
            say(note="text-cut")
            break


def addresses(raw: Any, document: Any, page: Any, limit: int) -> list[str]:
    """Where the link annotations of a page lead."""
    found: list[str] = []
    position = ctypes.c_int(0)
    link = raw.FPDF_LINK()
    while len(found) < limit and raw.FPDFLink_Enumerate(page, position, link):
        action = raw.FPDFLink_GetAction(link)
        size = raw.FPDFAction_GetURIPath(document, action, None, 0) if action else 0
        if 1 < size <= 4096:
            buffer = ctypes.create_string_buffer(size)
            raw.FPDFAction_GetURIPath(document, action, buffer, size)
            found.append(buffer.value.decode("utf-8", "replace"))
    return found


def say(**facts: object) -> None:
    """One line, at once."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
