"""Text that a spreadsheet would run as a formula is made text again; numbers are never touched.

OWASP, CSV Injection (https://owasp.org/www-community/attacks/CSV_Injection): the first character decides.
"""

from __future__ import annotations

DANGEROUS = frozenset("=+-@\t\r\0")
"""First characters that Excel, Sheets and LibreOffice take for the start of a formula, or skip over to find one."""


def guard(text: str) -> str:
    """Put an apostrophe before text that starts like a formula.

    >>> guard("=1+1")
    "'=1+1"
    >>> guard("H100")
    'H100'
    """
    return f"'{text}" if text[:1] in DANGEROUS and text else text
