"""Cells as people read them: verdicts in words and colour, ids as links, bytes as GiB with the exact count behind."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlsplit

from datasette.utils import tilde_encode
from markupsafe import Markup

VERDICTS = {
    "fits": ("\u2713", "fits: even the high estimate is within the limit"),
    "tight": ("~", "tight: the likely estimate is within the limit, the high one is not"),
    "no": ("\u2717", "no: the likely estimate is above the limit"),
    "cannot_run": ("\u2298", "cannot run: see the reason"),
}
"""Verdict -> (sign, title). The word itself is always shown: colour and sign only repeat it."""

ID_TABLES = {
    "model_id": "models",
    "accelerator_id": "accelerators",
    "system_id": "systems",
    "configuration_id": "configurations",
    "precision_id": "precisions",
    "native_precision_id": "precisions",
    "source_id": "sources",
    "checkpoint_id": "checkpoints",
    "runtime_id": "runtimes",
    "interconnect_id": "interconnects",
    "budget_id": "runtime_budgets",
    "case_id": "measurements",
    "workload_id": "workloads",
    "recipe_id": "recipes",
    "offer_id": "offers",
}
"""Column -> table that it is a key of; on views and queries Datasette does not know."""

NAMES = frozenset({("measurements", "model_id")})
"""Columns that look like keys but hold the name that a source writes."""

PAGES = {"model_id": "/model/", "accelerator_id": "/hardware/", "system_id": "/system/"}
"""Column -> address in front of the key of a record that has a page of its own."""

ANSWERS = {
    "model_id": ("where_a_model_fits", "model"),
    "accelerator_id": ("what_runs_on_a_device", "device"),
    "system_id": ("what_fits_on_a_system", "system"),
    "configuration_id": ("inference_fits", "configuration_id"),
}
"""Column -> page and parameter that list the fits of a record."""

CONFIGURATIONS = "configurations"
BYTES_ENDINGS = ("_bytes", "bytes")
NOT_SIZES = frozenset({"forward_bytes", "nominal_bytes_per_param", "bytes_per_param", "total_bytes_per_param"})
"""Columns whose bytes are per something and small."""

BOOLEANS = frozenset(
    {
        "second_hand", "is_class", "share_alike", "unified_memory", "multi_device", "tie_word_embeddings", "gated_ffn",
        "graphs_in_budget", "embedding_on_host", "supports_bf16", "supports_fp8", "supports_fp4",
        "supports_int4_matrix", "inside_range", "measured_verdict", "beside", "output_gate", "shared_kv_projection",
        "cross_attention", "shared_block", "inside_text", "published_is_input", "activation_checkpointing",
    }
)  # fmt: skip
COUNTS = frozenset(
    {
        "params_total", "params_active", "params_text", "published_params", "computed_params", "non_layer_params",
        "tower_params", "mtp_params", "params_per_layer", "params", "max_context", "max_sequences_8k",
        "max_sequences_32k", "max_sequences_128k", "least_max_context", "facts", "context", "max_sequences",
    }
)  # fmt: skip
"""Counts long enough to need their thousands apart."""

GIB = 2**30
URL_SHOWN = 60
EMPTY = Markup('<span class="rf-empty" title="no value on record">\u2014</span>')


@lru_cache(maxsize=256)
def verdict(value: str, text: str = "", note: str = "") -> Markup:
    """Return a verdict with its word, sign and colour."""
    sign, title = VERDICTS[value]
    shown = text or value.replace("_", " ")
    return Markup('<span class="rf-verdict rf-{}" title="{}"><span aria-hidden="true">{}</span> {}</span>').format(
        value, note or title, sign, shown
    )


def size(value: int | float) -> Markup:
    """Return bytes as GiB, MiB or KiB, the exact count in the title."""
    number = float(value)
    unit, name = next(((u, n) for u, n in ((GIB, "GiB"), (2**20, "MiB"), (2**10, "KiB")) if abs(number) >= u), (1, "B"))
    text = f"{number / unit:,.2f}" if unit > 1 else f"{number:,.0f}"
    return Markup(f'<span class="rf-size" title="{number:,.0f} bytes">{text}&nbsp;{name}</span>')  # digits only


def large(count: float) -> str:
    """Return a count of parameters as people say it.

    >>> large(27432406640), large(72593920), large(1.03e12)
    ('27.4 billion', '72.6 million', '1.03 trillion')
    """
    steps = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"), (1e3, "thousand"))
    unit, name = next(((unit, name) for unit, name in steps if count >= unit), (1.0, ""))
    return f"{count / unit:.3g} {name}".strip()


def row_link(urls: Any, database: str, table: str, key: Any) -> str:
    """Return the address of a row."""
    return _row_address(str(urls.table(database, table)), table, str(key))


def page_link(urls: Any, column: str, key: Any) -> str:
    """Return the address of the page of a model, a device or a system."""
    return f"{urls.path(PAGES[column])}{quote(str(key))}"


def _row_address(address: str, table: str, key: str) -> str:
    if table == CONFIGURATIONS:
        return f"{address}?{query_string({'configuration_id__exact': key})}"
    return f"{address}/{tilde_encode(key)}"


def query_string(arguments: dict[str, Any]) -> str:
    """Return arguments as the part of an address behind the question mark, empty ones left out."""
    from urllib.parse import urlencode

    return urlencode({name: value for name, value in arguments.items() if value not in (None, "")})


def asking(address: str, arguments: dict[str, Any]) -> str:
    """Return the address of a page with these arguments behind those that it has already.

    >>> asking("/calculator?task=training", {"model": "qwen3-8b", "on": ""})
    '/calculator?task=training&model=qwen3-8b'
    """
    return f"{address}{'&' if '?' in address else '?'}{query_string(arguments)}"


def web_link(value: str) -> Markup:
    """Return a link to an address, shortened to what a table has room for."""
    parts = urlsplit(value)
    shown = parts.netloc.removeprefix("www.") + parts.path.rstrip("/")
    shown = shown if len(shown) <= URL_SHOWN else shown[: URL_SHOWN - 1] + "\u2026"
    return Markup('<a href="{}" title="{}" rel="nofollow noopener">{}</a>').format(value, value, shown)


def cell(value: Any, column: str, table: str | None, database: str, urls: Any) -> Markup | None:
    """Return how a cell is shown, None where Datasette's own way is right."""
    if value is None:
        return EMPTY
    if isinstance(value, dict):
        return _labelled(value, column, database, urls)
    if isinstance(value, bytes):
        return None
    if isinstance(value, str):
        return _text(value, column, table, database, urls)
    if column in BOOLEANS and value in (0, 1):
        return Markup('<span class="rf-boolean">{}</span>').format("yes" if value else "no")
    if is_size(column):
        return size(value)
    if column in COUNTS and isinstance(value, int) and abs(value) >= 10_000:
        return Markup(f'<span class="rf-number">{value:,}</span>')  # digits only
    if column == "offer_id" and table != "offers":
        return Markup('<a href="{}">{}</a>').format(row_link(urls, database, "offers", value), value)
    return None


def _text(value: str, column: str, table: str | None, database: str, urls: Any) -> Markup | None:
    if value in VERDICTS and (column.startswith("verdict") or column.endswith("verdict")):
        return verdict(value)
    if value.startswith(("https://", "http://")) and len(value.split()) == 1:
        return web_link(value)
    target = ID_TABLES.get(column)
    if (table, column) in NAMES:
        return None
    if target is not None and target == table:
        own = page_link(urls, column, value) if column in PAGES else ""
        return _answers_anchor(str(urls.database(database)), own, column, value)
    if column in PAGES:
        return _page_anchor(str(urls.path(PAGES[column])), value)
    if target is not None:
        return _row_anchor(str(urls.table(database, target)), target, value)
    return None


def _labelled(value: dict[str, Any], column: str, database: str, urls: Any) -> Markup | None:
    """Return a foreign key that Datasette has looked up: its name as link, the key itself beside it.

    Datasette's own link takes every foreign key for a primary one; a configuration's is another.
    """
    key, target = str(value["value"]), ID_TABLES.get(column)
    if target is None:
        return None
    place = page_link(urls, column, key) if column in PAGES else row_link(urls, database, target, key)
    name = str(value["label"])
    beside = Markup(" <em>{}</em>").format(key) if name != key else ""
    return Markup('<a href="{}">{}</a>{}').format(place, name, beside)


def _answers_anchor(database: str, own: str, column: str, key: str) -> Markup | None:
    """Return a key on its own table with a link to its page, where it has one, and one to the fits of its record."""
    if column not in ANSWERS:
        return None
    page, parameter = ANSWERS[column]
    name = Markup('<a href="{}">{}</a>').format(own, key) if own else key
    shown = '{} <a class="rf-answers" href="{}/{}?{}">fits</a>'
    return Markup(shown).format(name, database, page, query_string({parameter: key}))


@lru_cache(maxsize=8192)
def _page_anchor(page: str, key: str) -> Markup:
    """Return a link to the page of a record."""
    return Markup('<a href="{}">{}</a>').format(page + quote(key), key)


@lru_cache(maxsize=8192)
def _row_anchor(table: str, name: str, key: str) -> Markup:
    """Return a link to a row by its key, given the address of its table. Pages repeat the same few ids."""
    return Markup('<a href="{}">{}</a>').format(_row_address(table, name, key), key)


@lru_cache(maxsize=1024)
def is_size(column: str) -> bool:
    """Return whether a column holds a number of bytes worth showing as GiB."""
    if column in NOT_SIZES or "per_" in column.replace("_per_device", ""):
        return False
    return column.endswith(BYTES_ENDINGS) or "_bytes_" in column
