"""Documents cannot drift: what they name exists, what exists is named, and their templates are valid records."""

from __future__ import annotations

import csv
import io
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

import rackfit
from rackfit.cli.app import COMMANDS
from rackfit.records.kinds import CSV_KINDS, RECORD_KINDS
from rackfit.records.sources import Source

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RECORDS = (ROOT / "data" / "README.md").read_text(encoding="utf-8")


def template(kind: str, language: str) -> str:
    """Return the template of a kind of record."""
    found = re.search(rf"### {re.escape(kind)}\n.*?```{language}\n(.*?)```", RECORDS, re.DOTALL)
    assert found, f"data/README.md has no template of {kind}"
    return found[1]


@pytest.mark.parametrize("kind", RECORD_KINDS, ids=lambda kind: kind.name)
def test_template_is_a_record(kind: Any) -> None:
    """The template of a kind is read by its model as it stands."""
    record = kind.model.model_validate({**tomllib.loads(template(kind.name, "toml")), "slug": "some/slug"})
    assert record.slug == "some/slug"


def fields(model: type[BaseModel]) -> set[str]:
    """Return the names of a model's fields and of those of its parts."""
    names = set()
    for name, info in model.model_fields.items():
        names.add(name)
        pending: list[Any] = [info.annotation]
        while pending:
            item = pending.pop()
            pending.extend(get_args(item))
            if isinstance(item, type) and issubclass(item, BaseModel):
                names |= fields(item)
    return names - {"slug", "file", "origin"}


@pytest.mark.parametrize("kind", RECORD_KINDS, ids=lambda kind: kind.name)
def test_template_is_complete(kind: Any) -> None:
    """Every field of a kind and of its parts stands in the template, at least as a comment."""
    text = template(kind.name, "toml")
    shown = set(re.findall(r"^(?:# )?(\w+) = ", text, re.MULTILINE))
    shown |= set(re.findall(r"^(?:# )?\[+(\w+)", text, re.MULTILINE))
    shown |= set(re.findall(r"^(?:# )?\[+\w+\.(\w+)", text, re.MULTILINE))
    missing = fields(kind.model) - shown
    assert not missing, f"{sorted(missing)} lack in data/README.md; repair with: python docs/generate.py --templates"


def test_template_of_a_source() -> None:
    """The template of a source is read by its model."""
    sources = tomllib.loads(template("sources", "toml"))
    assert sources and all(Source.model_validate({**source, "slug": key}).url for key, source in sources.items())


@pytest.mark.parametrize("kind", CSV_KINDS, ids=lambda kind: kind.name)
def test_template_of_rows(kind: Any) -> None:
    """The template of a CSV kind has every column and a row that its model reads."""
    rows = list(csv.DictReader(io.StringIO(template(kind.name, "csv"))))
    assert kind.required_columns() <= set(rows[0])
    cells = {name: text for name, text in rows[0].items() if text != ""}
    kind.model.model_validate({**cells, "file": "x", "origin": "release"})


def test_generated_documents_are_current() -> None:
    """The command reference and the data dictionary say what the code says."""
    done = subprocess.run([sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_reference_has_every_command(command: str) -> None:
    """Each command has its section."""
    assert f"## rackfit {command}\n" in (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")


def test_readme_opens_with_two_commands() -> None:
    """The first code block has one command that opens the catalog and one that passes the tests."""
    block = re.search(r"```sh\n(.*?)```", README, re.DOTALL)
    assert block
    lines = [line for line in block[1].splitlines() if line and not line.startswith("#")]
    assert len(lines) == 2
    assert lines[0].endswith("rackfit serve")
    assert "pytest" in lines[1]


def test_links_lead_somewhere() -> None:
    """Every relative link of the documents names a file of the checkout."""
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_commands_in_the_readme_exist() -> None:
    """No document names a command that is not there."""
    for path in [ROOT / "README.md", ROOT / "data" / "README.md", *(ROOT / "docs").glob("*.md")]:
        for name in re.findall(
            r"\brackfit ([a-z][a-z-]*)\b", " ".join(re.findall(r"`[^`]+`", path.read_text("utf-8")))
        ):
            assert name in COMMANDS, f"{path.name} names rackfit {name}"


def test_python_in_the_readme_runs(catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The README's Python example is true."""
    monkeypatch.setenv("RACKFIT_CATALOG", str(catalog))
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


@pytest.mark.parametrize("name", rackfit.__all__)
def test_exports_exist(name: str) -> None:
    """Each exported name can be imported, and none is hidden by a subpackage."""
    assert getattr(rackfit, name) is not None
    assert name not in {path.parent.name for path in (ROOT / "service" / "rackfit").glob("*/__init__.py")}


def test_changelog_has_this_version() -> None:
    """The newest entry of the changelog is the version of the package."""
    headings = re.findall(r"^## \[([\d.]+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == rackfit.__version__
    assert f'version = "{rackfit.__version__}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
