"""What JavaScript modules import by name is found, in files and in pages; what only looks like it is not."""

import pytest

from hemeroteca import extract
from hemeroteca.extract import modules


def imported(script: str) -> list[str]:
    return list(modules.imported(script, lambda note: None))


@pytest.mark.parametrize(
    "script",
    [
        'import "./x.js"',
        "import a from './x.js';",
        'import{a as b}from"./x.js";',
        'import * as all from "./x.js"',
        'import a, { b,\n  c /* "that" one */,\n  // d\n} from "./x.js"',
        'import { "odd name" as odd } from "./x.js"',
        'export * from "./x.js"',
        'export{default as y}from"./x.js"',
        'const a=1;import{b}from"./x.js";b(a)',
        'import { importMap } from "./x.js"',
    ],
)
def test_a_static_import_is_found(script):
    assert imported(script) == ["./x.js"]


@pytest.mark.parametrize(
    "script",
    [
        'import("./x.js")',
        'import react from "react"',
        'Array.from("./x.js")',
        '// import a from "./x.js"',
        ' * import a from "./x.js"',
        'const where = "taken from"; a("./x.js")',
        "const text = `the file comes from './x.js'`",
        'export const from = 1; b = from "./x.js"',
    ],
)
def test_what_only_looks_like_an_import_is_not(script):
    assert imported(script) == []


@pytest.mark.parametrize("media", ["text/javascript", "application/javascript; charset=utf-8"])
def test_imports_of_a_script_are_requisites_each_once(media):
    body = b'import "/a.js"; import b from "https://cdn.test/b.js#x"; export * from "../c.js"; import "/a.js"'
    document = extract.read(body, media, "https://a.test/app/main.js")
    assert document.kind == "script"
    assert [(link.href, link.kind) for link in document.links] == [
        ("/a.js", "requisite"),
        ("https://cdn.test/b.js", "requisite"),
        ("../c.js", "requisite"),
    ]


def test_imports_of_a_script_in_the_page_are_requisites():
    page = b'<script type=module>import go from "./go.js"; go()</script><script>import "./no.js"</script>'
    document = extract.read(page, "text/html", "https://a.test/")
    assert [(link.href, link.kind) for link in document.links] == [("./go.js", "requisite")]


def test_a_hostile_script_is_read_in_bounded_steps():
    assert imported('from "./x" ' * 200_000) == []
    assert imported('import { a = from "./x" ' * 50_000) == []
    notes: list[str] = []
    assert len(list(modules.imported('import "./x";' * 50_000, notes.append))) == modules.MAX_LOOKED_AT
    assert notes == ["links-cut"]
