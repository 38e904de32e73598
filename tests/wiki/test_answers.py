"""Texts that stay in their answer are what a decoder of JSON makes of them; else the answer is read as a whole."""

import json

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hemeroteca.extract import native
from hemeroteca.lake.parquet import TextWriter
from hemeroteca.lake.revisions import Text
from hemeroteca.wiki import answers

pytestmark = pytest.mark.skipif(native.load() is None, reason="the fast path is not built here")

TEXTS = st.text() | st.text(alphabet='"\\/\b\f\n\r\té€😀{}[]:, content*revisions')


def body(texts: list[str], ascii_only: bool = False, spaces: bool = False, **more: object) -> bytes:
    """An answer of each kind: slots, and a text of the revision's own."""
    entries = [
        {"revid": n, "comment": '"content":"no"', "slots": {"main": {"sha1": "a", "content": text}}}
        if n % 2
        else {"revid": n, "*": text, "tags": ["revisions", "content"]}
        for n, text in enumerate(texts)
    ]
    log = [{"logid": 1, "params": {"content": "kept"}}]
    query = {"pages": [{"pageid": 7, "title": "T", "revisions": entries}], "logevents": log}
    layout = {"indent": 1} if spaces else {"separators": (",", ":")}
    return json.dumps({"query": query, **more}, ensure_ascii=ascii_only, **layout).encode("utf-8", "replace")


def told(data: bytes, apart: bool) -> object:
    """Everything an answer tells, texts as bytes; or that it is none."""
    try:
        answer = answers.histories(data, apart)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    found = []
    for page in answers.pages(answer.get("query", {})):
        for entry in page.pop("revisions", ()):
            row, texts = answers.revision(entry, "w", "es", answers.page(page), 0)
            found.append((row, [(text.sha1, plain(text.text)) for text in texts]))
    return answer, found


def plain(text: object) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(text)


@given(st.lists(TEXTS), st.booleans(), st.booleans())
@example(["a\nb", "\u2028", "\ud83d", ""], True, True)
def test_texts_are_the_same_in_their_answer_and_out_of_it(texts, ascii_only, spaces):
    data = body(texts, ascii_only, spaces)
    assert told(data, True) == told(data, False)


@given(st.lists(TEXTS, min_size=1), st.data())
def test_a_damaged_answer_means_the_same_or_nothing(texts, data):
    answer = bytearray(body(texts, data.draw(st.booleans())))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(answer) - 1))
        answer[at : at + data.draw(st.integers(0, 2))] = data.draw(
            st.binary(max_size=2) | st.sampled_from([b'"', b"\\", b"\\u", b"\\ud800", b"\x01", b"[", b"}", b",", b":1"])
        )
    assert told(bytes(answer), True) == told(bytes(answer), False)


def test_texts_are_cut_out_of_the_revisions_and_of_nothing_else():
    answer = answers.histories(body(["one\n", "two"], error={"content": "x"}), apart=True)
    assert answer["query"]["logevents"] == [{"logid": 1, "params": {"content": "kept"}}]
    assert answer["error"] == {"content": "x"}
    first, second = answer["query"]["pages"][0]["revisions"]
    assert len(first.content_before.text) == 4
    assert bytes(second.slots["main"].content.text) == b"two"


def test_a_text_goes_from_its_answer_to_the_file(tmp_path):
    import pyarrow.parquet as pq

    texts = ["á\n" * 50, "", '"quoted" \\ 😀', "plain"]
    answer = answers.histories(body(texts, ascii_only=True), apart=True)
    writer = TextWriter(tmp_path / "t")
    for entry in answer["query"]["pages"][0]["revisions"]:
        _, (text,) = answers.revision(entry, "w", "es", answers.WikiPage(title="T", pageid=7), 0)
        assert not isinstance(text.text, str)
        writer.add(Text(wiki="w", pageid=7, sha1=f"{entry.revid:040x}", text=text.text))
    writer.close()
    assert pq.read_table(tmp_path / "t").column("text").to_pylist() == texts


def test_a_buffer_that_is_too_short_is_refused():
    ((passage, *_),) = [native.cut(body(["twelve bytes"]))[1]]
    with pytest.raises(ValueError, match="too short"):
        passage.write(memoryview(bytearray(20)), 9)
