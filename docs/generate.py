"""Write the generated documents, or check that they are what the code says.

    python docs/generate.py            write them
    python docs/generate.py --check    fail if one is out of date, naming this command
    python docs/generate.py --answers [CATALOG] [--check]   the documents that show answers of a catalog
    python docs/generate.py --accuracy [CATALOG]            the accuracy table of the README
    python docs/generate.py --templates       write the templates of records into data/README.md
    python docs/generate.py --test-command    print the README's command that passes the tests

Generated: docs/cli.md (help of every command), docs/data-dictionary.md (tables and columns). With answers:
docs/tutorial.md, docs/questions.md, docs/basics.md, docs/cookbook.md.
"""

from __future__ import annotations

import inspect
import re
import sqlite3
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
REPAIR = "python docs/generate.py"


def cli_reference() -> str:
    """Return every command with its text, examples and options."""
    import click

    from rackfit.cli.app import COMMANDS, cli

    lines = ["# Commands", "", f"Written by `{REPAIR}` from the commands themselves. Do not edit.", ""]
    context = click.Context(cli, info_name="rackfit")
    lines += _explained(cli.help or "")
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        lines += _command(f"rackfit {name}", command, context)
        if isinstance(command, click.Group):
            for part, below in command.commands.items():
                lines += _command(f"rackfit {name} {part}", below, context)
    return "\n".join(lines)


def _command(name: str, command: click.Command, context: click.Context) -> list[str]:
    """Return one command with its text, examples and options."""
    import click

    arguments = [item.make_metavar(context) for item in command.params if isinstance(item, click.Argument)]
    more = ["COMMAND"] if isinstance(command, click.Group) else [*arguments, "[OPTIONS]"]
    lines = [f"## {name}", "", f"`{' '.join([name, *more])}`", "", *_explained(command.help or "")]
    options = [option for option in command.params if isinstance(option, click.Option)]
    if options:
        lines += ["| option | meaning |", "|---|---|", *(_option_row(option, context) for option in options), ""]
    return lines


def _explained(text: str) -> list[str]:
    """Turn a command's text into Markdown: paragraphs, and its examples as code."""
    lines: list[str] = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        block = paragraph.startswith("\b")
        body = paragraph.removeprefix("\b").strip("\n")
        lines += ["```sh", body, "```", ""] if block else [body, ""]
    return lines


def _option_row(option: click.Option, context: click.Context) -> str:
    names = ", ".join(f"`{name}`" for name in option.opts)
    kind = option.type.name
    value = option.metavar or {"integer range": "N", "float range": "NUMBER"}.get(kind) or option.make_metavar(context)
    value = "" if option.is_flag else f" {value}"
    default = f" Default: {option.default}." if option.show_default and option.default is not None else ""
    meaning = " ".join((option.help or "").split()).replace("|", "\\|")
    return f"| {names}{value.replace('|', ' or ')} | {meaning}{'.' if meaning and default else ''}{default} |"


def data_dictionary() -> str:
    """Return every table and column with type, unit and meaning, those of answers too."""
    from rackfit.catalog.migrate import migrate
    from rackfit.export.answer_tables import ANSWER_TABLES
    from rackfit.records.fieldguide import describe, guide

    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection)
    entries = guide()
    lines = ["# Data dictionary", "", f"Written by `{REPAIR}` from the schema and the field guide. Do not edit.", ""]
    relations = connection.execute(
        "select name, type from sqlite_master where type in ('table', 'view') order by name"
    ).fetchall()
    relations = [(name, kind) for name, kind in relations if not name.startswith(("sqlite_", "_sqlite"))]
    for table, kind in relations:
        about = entries.get(f"{table}.")
        lines += [f"## {table}" + (" (view)" if kind == "view" else ""), ""]
        if about:
            lines += [about.description, ""]
        lines += ["| column | type | unit | meaning |", "|---|---|---|---|"]
        for name, declared in connection.execute("select name, type from pragma_table_info(?)", (table,)):
            entry = entries.get(f"{table}.{name}") or entries.get(name)
            unit, meaning = (entry.unit or "", entry.description) if entry else ("", "")
            lines.append(f"| {name} | {declared.lower()} | {unit} | {meaning.replace('|', '/')} |")
        lines.append("")
    connection.close()
    lines += [
        "# Files of answers",
        "",
        "What commands (`-o`) and pages (`.csv`, `.xlsx`) give; no tables of the catalog.",
        "",
    ]
    for table, columns in sorted(ANSWER_TABLES.items()):
        lines += [f"## {table} (answer)", "", "| column | unit | meaning |", "|---|---|---|"]
        for name in columns:
            entry = describe(name, table)
            lines.append(f"| {name} | {entry.unit or ''} | {entry.description.replace('|', '/')} |")
        lines.append("")
    return "\n".join(lines)


GENERATED = {"cli.md": cli_reference, "data-dictionary.md": data_dictionary}


def test_command() -> str:
    """Return the README's command that passes the tests: the line with pytest in its first code block."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```\w*\n(.*?)```", readme, re.DOTALL)
    lines = [line for line in (found[1] if found else "").splitlines() if "pytest" in line]
    if len(lines) != 1:
        raise SystemExit("README.md: its first code block needs exactly one line with pytest")
    return lines[0]


def write_templates() -> None:
    """Put the templates between their marks in data/README.md."""
    from templates import templates

    readme = ROOT / "data" / "README.md"
    text = readme.read_text(encoding="utf-8")
    head, _, rest = text.partition("<!-- templates -->\n")
    tail = rest.partition("<!-- /templates -->")[2]
    readme.write_text(f"{head}<!-- templates -->\n{templates()}<!-- /templates -->{tail}", encoding="utf-8")


_ACCURACY = re.compile(r"(<!-- accuracy -->\n).*?(<!-- /accuracy -->)", re.DOTALL)


KIND_NAMES = {
    "K1": "weights as loaded, workspace, start-up",
    "K2": "cache: size, tokens, peak at a context",
    "K3": "training",
    "K4": "files",
    "K5": "memory as tools report it",
    "K6": "does it fit, and limits",
    "K7": "decode speed",
    "K8": "training speed",
}
"""What the cases of a kind measure."""


def accuracy_table(catalog: Path) -> str:
    """Return the accuracy of a catalog's estimates as a table."""
    from rackfit.accuracy.score import score
    from rackfit.catalog.connect import open_catalog

    report = score(open_catalog(catalog), None).as_json()
    lines = ["| kind | cases | estimated | refused | median error | 90 % below |", "|---|---|---|---|---|---|"]
    for kind, line in sorted(report["kinds"].items()):
        shown = ["" if line[name] is None else f"{line[name]:.1%}" for name in ("median", "p90")]
        named = f"{kind} {KIND_NAMES.get(kind, '')}".rstrip()
        lines.append(
            f"| {named} | {line['cases']} | {line['resolved']} | {line['refused']} | {shown[0]} | {shown[1]} |"
        )
    fits = report["fits"]
    verdicts = f"{fits['true_fit']} right, {fits['false_fit']} wrong"
    refusals = f"{fits['true_no']} right, {fits['false_no']} wrong"
    return "\n".join(
        [*lines, "", f"Verdicts: of those that said it fits {verdicts}; of those that said no {refusals}.", ""]
    )


def write_accuracy(catalog: Path) -> None:
    """Put the table between its marks in the README."""
    readme = ROOT / "README.md"
    table = accuracy_table(catalog)
    text = readme.read_text(encoding="utf-8")
    readme.write_text(_ACCURACY.sub(lambda found: found[1] + table + found[2], text), encoding="utf-8")


ANSWERED = {
    "questions.md": ("questions", "questions"),
    "basics.md": ("questions", "basics"),
    "cookbook.md": ("cookbook",),
    "tutorial.md": ("tutorial",),
}
"""Documents that show answers of a catalog -> the module beside this one whose `document` makes it, and of what."""


def answered(catalog: Path) -> dict[str, str]:
    """Return every document that shows answers, as the catalog gives them today."""
    from importlib import import_module

    from asked import Asked

    asked = Asked(catalog)
    return {name: import_module(module).document(asked, *of) for name, (module, *of) in ANSWERED.items()}


def _catalog(arguments: list[str]) -> Path:
    from rackfit.paths import default_catalog

    named = [argument for argument in arguments[1:] if not argument.startswith("--")]
    return Path(named[0]) if named else default_catalog()


def _write(documents: dict[str, str], check: bool, repair: str) -> int:
    """Write the documents that are out of date, or name them; return the exit status."""
    stale = []
    for name, text in documents.items():
        path = DOCS / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(f"docs/{name}")
        if not check:
            path.write_text(text, encoding="utf-8")
            print(f"wrote docs/{name}")
    if stale and check:
        print(f"out of date: {', '.join(stale)}; repair with: {repair}", file=sys.stderr)
        return 1
    return 0


def main(arguments: list[str]) -> int:
    """Do what the command line says and return the exit status."""
    check = "--check" in arguments
    if arguments[:1] == ["--test-command"]:
        print(test_command())
        return 0
    if arguments[:1] == ["--accuracy"]:
        write_accuracy(_catalog(arguments))
        return 0
    if arguments[:1] == ["--templates"]:
        write_templates()
        return 0
    if arguments[:1] == ["--answers"]:
        return _write(answered(_catalog(arguments)), check, f"{REPAIR} --answers")
    return _write({name: make() for name, make in GENERATED.items()}, check, REPAIR)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
