"""The house is as `docs/architecture.md` says, and each of its names means one thing."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CODE = ROOT / "hemeroteca"
TESTS = ROOT / "tests"
MAX_PRIVATE = 62  # names that tests reach though they are private; let it fall, never rise
FACES = {"cli", "api", "console"}  # they name their modules after what they show of the other rooms
IN_EVERY_ROOM = {  # the same part of each room that has one
    "__init__",
    "__main__",
    "apps",  # Django's
    "models",  # tables
    "services",  # what can be done; the only writer of the tables
    "queries",  # what can be asked
    "job_kinds",  # long work
}
MEANT_TO_BE_USED = {"_meta", "_exit", "_create_unverified_context"}
TABLES = {"Route"}  # rows of a table that is read as one
WRITES = {"create", "bulk_create", "get_or_create", "update_or_create", "update", "bulk_update", "delete"}
PAGES = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
MAP = re.compile(r"^```\nhemeroteca/\n(.*?)^```", re.MULTILINE | re.DOTALL)


def lay_out(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_no_two_modules_have_one_name():
    assert not modules_named_twice(CODE)


def test_no_two_public_classes_have_one_name():
    assert not classes_named_twice(CODE)


def test_what_is_named_twice_is_noticed(tmp_path):
    files = {
        "frontier/robots.py": "class Robots: ...",
        "urls/robots.py": "class Robots: ...",
        "cli/robots.py": "class _Robots: ...",
        "jobs/__init__.py": "",
        "jobs/models.py": "class Job:\n    class Meta: ...",
        "jobs/migrations/0001_initial.py": "class Migration: ...",
        "watch/jobs.py": "class Watch:\n    class Meta: ...",
        "watch/models.py": "",
        "watch/migrations/0001_initial.py": "class Migration: ...",
        "api/models.py": "class Job: ...",
    }
    lay_out(tmp_path, files)
    assert modules_named_twice(tmp_path) == {
        "jobs": ["jobs", "watch/jobs.py"],
        "robots": ["frontier/robots.py", "urls/robots.py"],
    }
    assert classes_named_twice(tmp_path) == {
        "Job": ["api/models.py", "jobs/models.py"],
        "Robots": ["frontier/robots.py", "urls/robots.py"],
    }


def test_the_map_names_every_room_and_nothing_else():
    (rooms,) = MAP.findall((ROOT / "docs" / "architecture.md").read_text("utf-8"))
    named = re.findall(r"(?:^  |;  )([a-z_]+(?:/|\.py))[ :]", rooms, re.MULTILINE)
    there = {f"{path.parent.name}/" for path in CODE.glob("*/__init__.py")}
    there |= {path.name for path in CODE.glob("*.py") if not path.name.startswith("__")}
    assert sorted(named) == sorted(there)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_module_that_a_page_names_exists(page):
    named = re.findall(r"`((?:\w+/)+\w+\.py)`", page.read_text("utf-8"))
    assert not [name for name in named if not (CODE / name).exists() and not (ROOT / name).exists()]


def test_every_package_says_what_it_is_for():
    assert not [path for path in sources(CODE) if path.name == "__init__.py" and not ast.get_docstring(parsed(path))]


def test_no_room_writes_the_tables_of_another():
    assert not tables_written_from_elsewhere(CODE)


def test_a_write_to_the_table_of_another_room_is_noticed(tmp_path):
    files = {
        "jobs/services.py": "from hemeroteca.jobs.models import Job\nJob.objects.create()",
        "fleet/orders.py": "from hemeroteca.jobs.models import Job as Work\nWork.objects.filter(pk=1).update(state=2)",
        "cli/job.py": "def show():\n    from hemeroteca.jobs.models import Job\n    return Job.objects.filter(pk=1)",
    }
    lay_out(tmp_path, files)
    assert tables_written_from_elsewhere(tmp_path) == ["fleet/orders.py:2 writes Job of jobs"]


def test_values_of_many_fields_are_built_by_name():
    assert not built_by_position(CODE)


def test_a_value_built_by_position_is_noticed(tmp_path):
    (tmp_path / "visit.py").write_text(
        "class Visit: ...\nclass Route: ...\n"
        "a = Visit(0, 1, 2, 3, 4, 5)\nb = Visit(0, 1, 2, 3, 4, x=5)\nc = Table(0, 1, 2, 3, 4, 5)\n"
        "Route(0, 1, 2, 3, 4, 5)"
    )
    assert built_by_position(tmp_path) == ["visit.py:3 Visit(6 values without a name)"]


def test_tests_reach_objects_through_their_public_faces():
    assert len(private_names_used(TESTS)) <= MAX_PRIVATE


def test_a_private_name_that_a_test_uses_is_noticed(tmp_path):
    (tmp_path / "test_visit.py").write_text(
        "from hemeroteca.frontier.lease import Lease, _books\nimport os\n"
        "class Part:\n    def __init__(self):\n        self._own = 1\n"
        "Lease()._visits\nModel._meta\nLease().__class__\nos._exit(1)"
    )
    assert private_names_used(tmp_path) == ["test_visit.py:1 _books", "test_visit.py:6 _visits"]


def private_names_used(folder: Path) -> list[str]:
    """Names with a leading underscore that are taken from another object or module, but for those Django and Python
    mean to be used."""
    found = []
    for path in sources(folder):
        for node in ast.walk(parsed(path)):
            names = []
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) not in ("self", "cls"):
                names = [node.attr]
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hemeroteca"):
                names = [name.name for name in node.names]
            found += [
                f"{path.relative_to(folder)}:{node.lineno} {name}"
                for name in names
                if name.startswith("_") and not name.startswith("__") and name not in MEANT_TO_BE_USED
            ]
    return sorted(found)


def built_by_position(folder: Path) -> list[str]:
    """Calls of our own classes with six or more values whose names the reader has to know."""
    trees = {path: parsed(path) for path in sources(folder)}
    ours = {node.name for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)} - TABLES
    return [
        f"{path.relative_to(folder)}:{node.lineno} {name}({len(node.args)} values without a name)"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and len(node.args) >= 6
        if (name := ast.unparse(node.func).rpartition(".")[2]) in ours
    ]


def tables_written_from_elsewhere(folder: Path) -> list[str]:
    """Calls like `Crawl.objects.filter(…).update(…)` in a room that only imports the model."""
    found = []
    for path in sources(folder):
        place = path.relative_to(folder)
        tree = parsed(path)
        models = {
            name.asname or name.name: (name.name, room[1])
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            and (room := re.fullmatch(r"hemeroteca\.(\w+)\.models", node.module or ""))
            and room[1] != place.parts[0]
            for name in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WRITES:
                model, _, rest = ast.unparse(node.func).partition(".")
                if model in models and rest.startswith("objects."):
                    found.append(f"{place}:{node.lineno} writes {' of '.join(models[model])}")
    return sorted(found)


def modules_named_twice(folder: Path) -> dict[str, list[str]]:
    """Modules and packages of the rooms below the faces that share a name with another one."""
    below = [path for path in sources(folder) if path.relative_to(folder).parts[0] not in FACES]
    things = [path.parent if path.name == "__init__.py" else path for path in below]
    return repeated((thing.stem, thing.relative_to(folder)) for thing in things if thing.stem not in IN_EVERY_ROOM)


def classes_named_twice(folder: Path) -> dict[str, list[str]]:
    return repeated(
        (node.name, path.relative_to(folder))
        for path in sources(folder)
        for node in parsed(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )


def repeated(named: Iterable[tuple[str, Path]]) -> dict[str, list[str]]:
    places = defaultdict(list)
    for name, path in named:
        places[name].append(str(path))
    return {name: sorted(paths) for name, paths in sorted(places.items()) if len(paths) > 1}


def sources(folder: Path) -> list[Path]:
    """Ours: no migrations, and nothing of the servers that `tests/install` puts into folders with a dot."""
    paths = [(path, path.relative_to(folder).parts) for path in sorted(folder.rglob("*.py"))]
    return [path for path, parts in paths if "migrations" not in parts and not parts[0].startswith(".")]


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))
