"""`rackfit prices`: list dated prices, import one's own, remove them, refresh from a published catalogue."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from rackfit.cli.options import catalog_option, catalog_path, json_option, limit_option, opened, price_options
from rackfit.cli.showing import show_json, show_list, show_table

FILE = click.Path(path_type=Path, dir_okay=False)
KIND = click.Choice(["hourly", "purchase"])
COLUMNS = {
    "price": "price",
    "currency": "currency",
    "price_per_device": "per device",
    "device_count": "devices",
    "accelerator_id": "accelerator",
    "provider": "provider",
    "product": "product",
    "region": "region",
    "term": "term",
    "tier": "tier",
    "valid_from": "date",
    "offer_id": "offer",
}
MOST_TOLD = 20
"""Remarks on an import that people are shown; --json has all."""
TEMPLATE = (
    "kind,accelerator,system,device_count,price,currency,provider,issuer,product,region,term,tier,price_kind,"
    "valid_from,valid_until,minimum_devices,includes,tax_basis,quantity_basis,note\n"
    "hourly,h100-sxm5-80gb,,8,23.50,USD,Example Cloud,,8x H100,eu-west,reserved 1y,standard,quote,2026-11-01,"
    "2027-01-31,,whole instance,excl. VAT,,\n"
    "purchase,rtx-pro-6000-blackwell-server,,1,8200,EUR,,Example Reseller,,DE,,,quote,2026-11-01,2026-12-31,,,"
    "excl. VAT,per card,\n"
)


@click.group(invoke_without_command=True, short_help="Dated prices: list, import your own, remove, refresh")
@click.pass_context
def prices(context: click.Context) -> None:
    """Dated prices on record, and your own beside them.

    Your own prices stay in your catalog, count in every answer, are taken over by the next build, and are seen by
    whoever sees your catalog: `rackfit serve` shows them too.

    \b
    rackfit prices list --on "8x h100-sxm5-80gb"
    rackfit prices template > quotes.csv
    rackfit prices import quotes.csv --source "Quote 4711" --dry-run
    rackfit prices list --own
    rackfit prices remove --all
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), color=False)


@prices.command("list", short_help="Offers that count, lowest per device first")
@click.option("--on", metavar="HARDWARE", help="Only prices of that hardware, as prices of the whole of it")
@click.option("--kind", type=KIND, help="Rent or purchase  [default: hourly; with --own both]")
@click.option("--own", is_flag=True, help="Only prices of one's own")
@click.option("--flagged", is_flag=True, help="With prices that look wrong, and why")
@price_options
@limit_option(30)
@json_option
@catalog_option
def list_(
    on: str | None,
    kind: str | None,
    own: bool,
    flagged: bool,
    limit: int,
    as_json: bool,
    catalog: Path | None,
    **words: Any,
) -> None:
    """List dated prices, the newest of each product: on demand in US dollars unless asked otherwise.

    \b
    rackfit prices list --on "4x a100-sxm4-80gb" --term any
    rackfit prices list --kind purchase --currency EUR --json
    """
    from rackfit.ask.offers import list_offers
    from rackfit.ask.prices import read_choice

    kinds = [kind] if kind else ["hourly", "purchase"] if own else ["hourly"]
    rows: list[dict[str, Any]] = []
    with opened(catalog) as connection:
        for one in kinds:
            choice = replace(read_choice(connection, one, **words), flagged=flagged or own)
            if own and not words["currency"]:
                choice = replace(choice, currency=None)
            if own and not words["term"]:
                choice = replace(choice, term=None)
            rows += [row for row in list_offers(connection, choice, on) if not own or row["origin"] == "local"]
    if as_json:
        show_list({"on": on, "kind": kind, "own": own, **words, "limit": limit}, rows[:limit])
        return
    columns = {**COLUMNS, "flag": "flag"} if flagged or own else COLUMNS
    shown = [{**row, "offer_id": str(row["offer_id"])} for row in rows[:limit]]
    show_table(shown, columns, "no price on record for that: blank stays blank")
    if len(rows) > limit:
        click.echo(f"{len(rows) - limit} more: --limit", err=True, color=False)


@prices.command(short_help="The columns of a file to import, with two example rows")
def template() -> None:
    """Write a CSV with every column that `rackfit prices import` reads; fill it in and import it.

    Needed: accelerator or system, price, and as columns or options kind, currency and valid_from; for hourly prices
    also provider and term. A heading such as price_eur says the currency. Other names of columns (slug, count,
    InstanceType, AcceleratorName, SpotPrice, ...) are known too.
    """
    click.echo(TEMPLATE, nl=False, color=False)


@prices.command("import", short_help="Your own prices from a CSV file")
@click.argument("file", type=FILE)
@click.option("--source", "title", help="What the file is, such as a quote's number  [default: its name]")
@click.option("--issuer", help="Who issued it, unless a column says so")
@click.option("--kind", type=KIND, help="Rent or purchase, unless a column or heading says so")
@click.option("--currency", help="Three letters, unless a column or heading says so")
@click.option("--provider", help="Provider of hourly prices, unless a column says so")
@click.option("--term", help="Term of hourly prices, such as on-demand, unless a column says so")
@click.option("--date", "valid_from", metavar="DATE", help="Date of the prices, unless a column says so")
@click.option("--dry-run", is_flag=True, help="Read and check everything, write nothing")
@json_option
@catalog_option
def import_(file: Path, title: str | None, dry_run: bool, as_json: bool, catalog: Path | None, **asked: Any) -> None:
    """Add the prices in FILE to the catalog as rows of one's own.

    FILE is CSV in UTF-8 as a spreadsheet saves it: comma or semicolon, decimal point or comma. All bad cells are named
    at once, and then nothing is written. A row without a price is left out and named.

    \b
    rackfit prices import quotes.csv --source "Quote 4711" --issuer "Example Reseller"
    rackfit prices import list.csv --kind purchase --currency EUR --dry-run
    """
    from rackfit.catalog.local_prices import add_offers, imported_source
    from rackfit.intake.quotes import read_quotes
    from rackfit.tabular.reading import read_text

    name = title or file.name
    key = source_key(name)
    with opened(catalog) as connection:
        quotes = read_quotes(connection, read_text(file), file.name, key, asked)
    offers = [offer for _, offer in quotes.offers]
    source = imported_source(key, name, asked["issuer"])
    report = add_offers(catalog_path(catalog), source, offers, dry_run=dry_run)
    told = {
        "file": file.name, "source_id": key, "dry_run": dry_run, "imported": len(report.added),
        "offer_ids": list(report.added), "unchanged": report.unchanged, "left_out": list(quotes.left_out),
        "conflicts": list(report.conflicts), "flagged": list(report.flags), "notes": list(quotes.notes),
    }  # fmt: skip
    show_json(told) if as_json else tell(told)


def source_key(title: str) -> str:
    """Return the key of an imported source.

    >>> source_key("Quote 4711/B, Example")
    'local-quote-4711-b-example'
    """
    return f"local-{re.sub(r'[^a-z0-9]+', '-', title.casefold()).strip('-') or 'prices'}"


def tell(report: Mapping[str, Any]) -> None:
    """Say what an import did: the counts first, then every remark."""
    done = "would be imported, nothing was written" if report["dry_run"] else "imported"
    click.echo(f"{report['imported']:,} prices {done}, {report['unchanged']:,} were there already", color=False)
    for title in ("conflicts", "flagged", "left_out", "notes"):
        lines: Sequence[str] = report[title]
        for line in lines[:MOST_TOLD]:
            click.echo(f"{title.replace('_', ' ').removesuffix('s')}: {line}", color=False)
        if len(lines) > MOST_TOLD:
            click.echo(f"{title.replace('_', ' ')}: {len(lines) - MOST_TOLD:,} more, --json has all", color=False)


@prices.command(short_help="Remove imported prices")
@click.argument("offers", nargs=-1, type=click.IntRange(min=1), metavar="[OFFER]...")
@click.option("--all", "everything", is_flag=True, help="All prices that were imported")
@catalog_option
def remove(offers: tuple[int, ...], everything: bool, catalog: Path | None) -> None:
    """Remove prices of one's own by their number (`rackfit prices list --own`), or all of them.

    \b
    rackfit prices remove 123456789
    rackfit prices remove --all
    """
    from rackfit.catalog.local_prices import remove_offers

    if everything == bool(offers):
        raise click.UsageError("name offers, or --all", click.get_current_context())
    gone = remove_offers(catalog_path(catalog), None if everything else offers)
    click.echo(f"{gone:,} prices removed", color=False)


@prices.command(short_help="Prices of gpuhunt's published catalogues")
@click.option("--provider", "providers", multiple=True, help="Only this provider; repeatable  [default: all published]")
@click.option("--from", "folder", type=click.Path(path_type=Path, file_okay=False), help="Catalogues downloaded before")
@click.option("--date", metavar="DATE", help="Date of catalogues in a folder  [default: today]")
@click.option("--dry-run", is_flag=True, help="Read and check everything, write nothing")
@json_option
@catalog_option
def refresh(
    providers: tuple[str, ...],
    folder: Path | None,
    date: str | None,
    dry_run: bool,
    as_json: bool,
    catalog: Path | None,
) -> None:
    """Take over the prices that gpuhunt publishes for cloud providers, as rows of one's own with their date.

    Needs a network and the extra: pip install 'rackfit[prices]'; or --from, a folder of <provider>.csv files in
    gpuhunt's columns. What an earlier refresh brought of the same providers is replaced. A row whose device is not
    certain is left out and counted.

    \b
    rackfit prices refresh --provider aws --provider gcp
    rackfit prices refresh --from catalogues/ --date 2026-11-01 --dry-run
    """
    from rackfit.catalog.local_prices import add_batches, imported_source
    from rackfit.intake.published_prices import URL, chosen, collect, offers_of

    found = collect(chosen(providers), folder, date)
    batches = []
    told: dict[str, Any] = {"dry_run": dry_run, "providers": []}
    with opened(catalog) as connection:
        for catalogue in found:
            key = source_key(f"gpuhunt {catalogue.provider}")
            published = offers_of(connection, catalogue, key)
            title = f"gpuhunt catalogue of {catalogue.provider}, {catalogue.version or catalogue.date}"
            batches.append((imported_source(key, title, f"gpuhunt: {catalogue.provider}", URL), published.offers))
            told["providers"].append({"provider": catalogue.provider, "version": catalogue.version,
                                      "date": catalogue.date, "left_out": dict(published.left_out)})  # fmt: skip
    reports = add_batches(catalog_path(catalog), batches, replace=True, dry_run=dry_run)
    for row, report in zip(told["providers"], reports, strict=True):
        row |= {"imported": len(report.added), "flagged": len(report.flags), "conflicts": list(report.conflicts)}
    show_json(told) if as_json else _tell_refresh(told)


def _tell_refresh(told: Mapping[str, Any]) -> None:
    for row in told["providers"]:
        done = "would be taken over, nothing was written" if told["dry_run"] else "taken over"
        click.echo(f"{row['provider']} of {row['date']}: {row['imported']:,} prices {done}", color=False)
        for reason, count in list(row["left_out"].items())[:MOST_TOLD]:
            click.echo(f"  left out, {count:,}: {reason}", color=False)
        for line in row["conflicts"][:MOST_TOLD]:
            click.echo(f"  conflict: {line}", color=False)
