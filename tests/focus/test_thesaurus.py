"""SKOS files of three kinds give the same thesaurus; GEMET as it is published."""

import time
from pathlib import Path

import pytest

from hemeroteca.errors import Invalid, NotFound
from hemeroteca.focus import relevance, thesaurus
from hemeroteca.focus.definition import Definition

GEMET = Path(__file__).parents[3] / "shared" / "data" / "gemet"

TURTLE = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix t: <http://t.test/> .
t:water a skos:Concept ; skos:prefLabel "water"@en, "agua"@es ; skos:narrower t:river .
t:river a skos:Concept ; skos:prefLabel "river"@en, "río"@es ; skos:altLabel "stream"@en .
t:tax a skos:Concept ; skos:prefLabel "tax"@en .
t:nature a skos:Collection ; skos:prefLabel "natural waters"@en ; skos:member t:water, t:river .
"""
RDF_XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="http://www.w3.org/2004/02/skos/core#"
  xml:base="http://t.test/">
<skos:Concept rdf:about="water"><skos:prefLabel xml:lang="en">water</skos:prefLabel>
  <skos:prefLabel xml:lang="es">agua</skos:prefLabel></skos:Concept>
<skos:Concept rdf:about="river"><skos:broader rdf:resource="water"/><skos:prefLabel xml:lang="en">river</skos:prefLabel>
  <skos:prefLabel xml:lang="es">río</skos:prefLabel><skos:altLabel xml:lang="en">stream</skos:altLabel></skos:Concept>
<skos:Concept rdf:about="tax"><skos:prefLabel xml:lang="en">tax</skos:prefLabel></skos:Concept>
<skos:Collection rdf:about="nature"><skos:prefLabel xml:lang="en">natural waters</skos:prefLabel>
  <skos:member rdf:resource="water"/><skos:member rdf:resource="river"/></skos:Collection>
</rdf:RDF>"""
JSON_LD = """{"@context": {"skos": "http://www.w3.org/2004/02/skos/core#", "@base": "http://t.test/"}, "@graph": [
{"@id": "water", "@type": "skos:Concept", "skos:prefLabel": [{"@value": "water", "@language": "en"},
  {"@value": "agua", "@language": "es"}]},
{"@id": "river", "@type": "skos:Concept", "skos:broader": {"@id": "water"},
  "skos:prefLabel": [{"@value": "river", "@language": "en"}, {"@value": "río", "@language": "es"}],
  "skos:altLabel": {"@value": "stream", "@language": "en"}},
{"@id": "tax", "@type": "skos:Concept", "skos:prefLabel": {"@value": "tax", "@language": "en"}},
{"@id": "nature", "@type": "skos:Collection", "skos:prefLabel": {"@value": "natural waters", "@language": "en"},
  "skos:member": [{"@id": "water"}, {"@id": "river"}]}]}"""


def seen(found: thesaurus.Thesaurus) -> dict[str, tuple]:
    depths = found.depths()
    return {
        concept.uri: (
            sorted((label.text, label.language, label.preferred) for label in concept.labels),
            depths[number],
            [found.groups[group].uri for group in concept.groups],
        )
        for number, concept in enumerate(found.concepts)
    }


@pytest.mark.parametrize(("ending", "text"), [("ttl", TURTLE), ("rdf", RDF_XML), ("jsonld", JSON_LD), ("skos", TURTLE)])
def test_every_form_of_skos_gives_the_same_thesaurus(tmp_path, ending, text):
    path = tmp_path / f"t.{ending}"
    path.write_text(text, "utf-8")
    found = thesaurus.read("t", [path])
    assert seen(found) == {
        "http://t.test/water": ([("agua", "es", True), ("water", "en", True)], 0, ["http://t.test/nature"]),
        "http://t.test/river": (
            [("river", "en", True), ("río", "es", True), ("stream", "en", False)],
            1,
            ["http://t.test/nature"],
        ),
        "http://t.test/tax": ([("tax", "en", True)], 0, []),
    }


@pytest.mark.parametrize("theme", ["natural waters", "waters", "water", "nature"])
def test_a_theme_is_a_group_or_a_concept_with_all_below_it(tmp_path, theme):
    path = tmp_path / "t.ttl"
    path.write_text(TURTLE, "utf-8")
    found = thesaurus.read("t", [path])
    assert {found.concepts[number].uri for number in found.members([theme])} == {
        "http://t.test/water",
        "http://t.test/river",
    }


def test_concepts_that_go_in_circles_do_no_harm(tmp_path):
    path = tmp_path / "t.ttl"
    prefix = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix t: <http://t.test/> ."
    path.write_text(
        prefix + 't:a skos:broader t:b ; skos:prefLabel "a"@en . t:b skos:broader t:a ; skos:prefLabel "b"@en .'
    )
    assert thesaurus.read("t", [path]).depths() == [0, 0]


@pytest.mark.parametrize(
    ("name", "text"), [("t.rdf", "<rdf:RDF><oops"), ("t.ttl", "not turtle at all <"), ("t.jsonld", "{"), ("t.ttl", "")]
)
def test_a_file_that_is_no_thesaurus_is_refused_with_its_name(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(Invalid, match=r"t\.(rdf|ttl|jsonld)"):
        thesaurus.read("t", [path])


def test_a_thesaurus_is_kept_and_read_again(tmp_path):
    path = tmp_path / "t.ttl"
    path.write_text(TURTLE, "utf-8")
    found = thesaurus.read("t", [path])
    thesaurus.save(tmp_path / "kept", found)
    assert thesaurus.kept(tmp_path / "kept") == ["t"]
    assert thesaurus.load(tmp_path / "kept", "t") == found
    with pytest.raises(NotFound, match="import other"):
        thesaurus.load(tmp_path / "kept", "other")
    with pytest.raises(NotFound):
        thesaurus.load(tmp_path / "kept", "../kept/t")


def test_the_built_in_vocabulary_is_bilingual_and_has_a_hierarchy():
    found = thesaurus.load(None, "geography")
    languages = found.languages()
    assert languages["en"] > 60
    assert languages["es"] > 60
    assert max(found.depths()) >= 2


@pytest.mark.skipif(not GEMET.is_dir(), reason="GEMET is not here")
def test_gemet_is_imported_whole_and_its_themes_narrow_it():
    found = thesaurus.read("gemet", sorted(GEMET.glob("*.rdf")))
    assert len(found.concepts) == 5207
    assert found.languages() == {"en": 5207, "es": 5207}
    assert max(found.depths()) > 5
    air = {label.text for number in found.members(["air"]) for label in found.concepts[number].labels}
    assert {"air pollution", "contaminación atmosférica"} <= air
    assert "groundwater" not in air
    focus = relevance.compiled(Definition(name="g", thesauri=("gemet",), themes=("air",)), lambda name: found)
    about = relevance.Relevance(focus)
    assert about.page("La contaminación atmosférica y las emisiones a la atmósfera.") > 0.1
    assert about.page("El partido terminó con empate a dos goles.") == 0.0


@pytest.mark.skipif(not GEMET.is_dir(), reason="GEMET is not here")
def test_scoring_a_page_by_gemet_is_thousands_of_times_quicker_than_asking_it_by_sparql():
    rdf = pytest.importorskip("pyoxigraph")
    found = thesaurus.read("gemet", sorted(GEMET.glob("*.rdf")))
    about = relevance.Relevance(relevance.compiled(Definition(name="g", thesauri=("gemet",)), lambda name: found))
    text = "the quality of the air and the currents of the ocean near the harbour " * 280
    about.page(text)
    began = time.process_time()
    for _ in range(20):
        about.page(text)
    ours = (time.process_time() - began) / 20
    store = rdf.Store()
    for language in ("en", "es"):
        store.bulk_load(path=str(GEMET / f"gemet-definitions-{language}.rdf"), format=rdf.RdfFormat.RDF_XML)
    began = time.process_time()
    label = "<http://www.w3.org/2004/02/skos/core#prefLabel>"
    for word in ("quality", "ocean"):
        list(store.query(f'SELECT ?c WHERE {{ ?c {label} ?l FILTER(REGEX(STR(?l), "{word}", "i")) }}'))
    asked = (time.process_time() - began) / 2 * len(relevance.plain_words(text))
    assert asked > 1000 * ours
