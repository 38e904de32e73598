from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.search.index import count_documents, open_index


def test_documents_are_counted_without_opening_the_index(tmp_path):
    assert count_documents(tmp_path) == 0
    index = open_index(None, tmp_path)
    with index.writer(15 << 20) as writer:
        for key in range(1, 8):
            writer.put(SearchDocument(key=key, url=f"https://a.example/{key}", host="a.example", text="pan"))
        writer.commit()
        writer.delete(3)
        writer.put(SearchDocument(key=4, url="https://a.example/4", host="a.example", text="queso"), replaces=True)
        writer.commit()
    assert count_documents(tmp_path) == open_index(None, tmp_path).count() == 6
