"""Text that a spreadsheet would run as a formula is made text again; numbers are never touched.

OWASP, CSV Injection (https://owasp.org/www-community/attacks/CSV_Injection): the first character decides.
"""

from __future__ import annotations

import re

DANGEROUS = frozenset("=+-@\t\r\0")
"""First characters that Excel, Sheets and LibreOffice take for the start of a formula, or skip over to find one."""

_NUMBER = re.compile(r"[-+](\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE | re.ASCII)
"""A signed number is a number to every spreadsheet, and stays one."""


def guard(text: str) -> str:
    """Put an apostrophe before text that starts like a formula and is no number.

    >>> guard("=1+1"), guard("-2+3"), guard("-5.5")
    ("'=1+1", "'-2+3", '-5.5')
    >>> guard("H100")
    'H100'
    """
    if text[:1] not in DANGEROUS or not text or _NUMBER.fullmatch(text):
        return text
    return f"'{text}"
