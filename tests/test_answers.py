"""Documents that show answers: every command and page in them still answers, and reported figures stand beside ours."""

from __future__ import annotations

import csv
import importlib
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
REPAIR = "python docs/generate.py --answers"


def module(name: str) -> Any:
    """Import a module of docs/."""
    if str(DOCS) not in sys.path:
        sys.path.insert(0, str(DOCS))
    return importlib.import_module(name)


cookbook = module("cookbook")
questions = module("questions")
tutorial = module("tutorial")
REFERENCE = {
    row["q_id"]: row
    for row in csv.DictReader((ROOT / "tests/reference/questions.csv").open(encoding="utf-8", newline=""))
}


@pytest.fixture(scope="session")
def asked(catalog: Path) -> Any:
    """The commands and pages of the catalog, in this process."""
    return module("asked").Asked(catalog)


ASKED = [(name, question) for name in ("questions", "basics") for question in questions.sheet(name).questions]
"""Every question with the sheet on which it stands."""
asked_each = pytest.mark.parametrize(("name", "question"), ASKED, ids=[question.id for _, question in ASKED])


@asked_each
def test_question_is_answered(name: str, question: Any, asked: Any) -> None:
    """One command or page answers, and the figures that the source states are within the tolerance given."""
    assert questions.answer(question, asked)
    missed = [comparison for comparison in questions.compare(question, asked) if not comparison.holds]
    assert not missed, [(one.figure.what, one.figure.reported, one.ours) for one in missed]


@asked_each
def test_question_stands_in_the_document(name: str, question: Any) -> None:
    """The document has each question with how to ask it, and explains wide tolerances and differences."""
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert f"| {question.ask} |".replace("||", "|") in text, f"repair with: {REPAIR}"
    assert question.how.replace("|", "&#124;") in text, f"repair with: {REPAIR}"
    for figure in question.figures:
        assert figure.why or (figure.tolerance <= 0.25 and not figure.differs), f"{figure.what}: say why"


@pytest.mark.parametrize("question", questions.sheet("questions").questions, ids=lambda question: question.id)
def test_question_is_one_of_the_list(question: Any) -> None:
    """Kind and source are those of the list of questions that people asked."""
    row = REFERENCE[question.id]
    assert (question.kind, question.source) == (row["kind"], row["source_url"])


@pytest.mark.parametrize("recipe", cookbook.RECIPES, ids=lambda recipe: recipe.slug)
def test_recipe_answers(recipe: Any, asked: Any) -> None:
    """Each question of the cookbook answers with rows that have the columns shown; its SQL stands in the document."""
    rows = cookbook.answer(recipe, asked)
    assert rows
    assert set(recipe.columns.split()) <= set(rows[0])
    assert recipe.query.sql in (DOCS / "cookbook.md").read_text(encoding="utf-8"), f"repair with: {REPAIR}"


def test_every_question_of_the_list_is_answered() -> None:
    """All of them stand on the sheet, each once."""
    asked = [question.id for question in questions.sheet("questions").questions]
    assert sorted(asked) == sorted(REFERENCE)


def test_cookbook_has_twenty_questions() -> None:
    """Twenty questions or more, each asked once."""
    assert len({recipe.slug for recipe in cookbook.RECIPES}) == len(cookbook.RECIPES) >= 20


def test_every_command_of_the_tutorial_runs(asked: Any) -> None:
    """The tutorial can be followed to the end: each of its commands answers, or is run by the test that is named."""
    written = tutorial.FILE.read_text(encoding="utf-8")
    made = tutorial.document(asked)

    assert tutorial.BLOCK.sub("", made) == tutorial.BLOCK.sub("", written)
    shown = {command for block in tutorial.BLOCK.finditer(written) for command in tutorial.commands(block["commands"])}
    assert tutorial.ELSEWHERE.keys() <= shown
    assert "```text\n```" not in made


def test_every_command_of_the_readme_runs(asked: Any, tmp_path: Path) -> None:
    """Each example of the README answers; the first block is what CI runs.

    Commands that read a buyer's own file or an older catalog, or change the catalog, have tests of their own.
    """
    shutil.copy(ROOT / "tests/reference/trials/R086.log", tmp_path / "startup.log")
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("```sh\n")[2].partition("```")[2]
    blocks = [block["commands"] for block in tutorial.BLOCK.finditer(text)]
    shown = [command for block in blocks for command in tutorial.commands(block) if command.startswith("rackfit ")]
    shown = [
        command
        for command in shown
        if not command.startswith(("rackfit prices import", "rackfit tender", "rackfit diff"))
    ]

    assert len(shown) > 10
    for command in shown:
        assert asked.text(command, tmp_path), command
