"""The house: every import points down a floor, files stay short, and nothing is tied to one machine."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "service" / "rackfit"

FLOORS = (
    ("errors", "paths"),
    ("tabular",),
    ("records",),
    ("memory",),
    ("speed", "money"),
    ("fit",),
    ("catalog", "modelfiles"),
    ("ask",),
    ("accuracy",),
    ("assemble",),
    ("export", "intake"),
    ("publish",),
    ("cli",),
)
"""From the ground up. A room imports from itself and from floors below, not from beside or above."""

MOST_LINES = 400
LONG_FUNCTION = 60
"""Lines of code of a function without its docstring: 40 is the aim, this is the limit."""

FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
MODULES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    """Return the room that a module is in: its package, or its own name on the ground."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    """Yield the rooms that a module imports from, wherever in the module it does."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            names = [node.module or ""]
            if node.module == "rackfit":
                names = [f"rackfit.{alias.name}" for alias in node.names]
        yield from (name.split(".")[1] for name in names if name.startswith("rackfit."))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_point_down(path: Path) -> None:
    """A module imports only from its own room and from floors below."""
    room = room_of(path)
    if room in ("__init__", "__main__"):
        return
    assert room in FLOOR, f"{room} is on no floor"
    for other in imports(path):
        assert other == room or FLOOR[other] < FLOOR[room], f"{room} imports {other}, which is not below it"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_files_are_short(path: Path) -> None:
    """A file of more than 400 lines probably has two subjects."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the functions of a module with their lines of body, docstring left out."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
            yield node.name, (node.end_lineno or 0) - first.lineno + 1


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_functions_are_short(path: Path) -> None:
    """A function is read at one glance."""
    long = [f"{name}: {lines} lines" for name, lines in functions(path) if lines > LONG_FUNCTION]
    assert not long


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_modules_and_public_functions_explain_themselves(path: Path) -> None:
    """Each module and each public function, class and method has a docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if path.name != "__init__.py" or tree.body:
        assert ast.get_docstring(tree), "the module has no docstring"
    bare = [node.name for node in _public(tree) if not ast.get_docstring(node)]
    assert not bare, f"no docstring: {bare}"


def _public(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """Yield public functions and classes of a module and the public methods of these classes."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                methods = (item for item in node.body if isinstance(item, ast.FunctionDef))
                yield from (method for method in methods if not method.name.startswith("_"))


def test_names_of_test_files_are_unique() -> None:
    """pytest imports test files by their bare name: two of one name stop the whole run."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


TEXT = {".py", ".toml", ".md", ".sql", ".csv", ".html", ".css", ".js", ".json", ".sh", ""}
ABSOLUTE = re.compile(r"(?<![\w.:/<-])/(home|root|tmp|work|Users|mnt)/\w")


def test_no_path_of_one_machine() -> None:
    """No file names a place on somebody's machine."""
    folders = ("service", "migrations", "docs", "tests", ".ci")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    found = []
    for path in [*paths, *ROOT.glob("*.md"), ROOT / "pyproject.toml", ROOT / "data" / "README.md"]:
        if path.suffix not in TEXT or "reference" in path.parts or "__pycache__" in path.parts:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if ABSOLUTE.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert not found, "\n".join(found)
