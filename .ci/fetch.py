"""Wait for a server and fetch pages from it: `fetch.py BASE PATH...`; fails unless each answers 200 and JSON parses."""

import json
import sys
import time
import urllib.error
import urllib.request

PATIENCE_S = 30


def fetch(url: str, until: float) -> bytes:
    """Return the page, trying again while nobody listens."""
    while True:
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE_S) as response:
                return response.read()
        except urllib.error.HTTPError:
            raise
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def main(base: str, paths: list[str]) -> None:
    """Fetch every path."""
    until = time.monotonic() + PATIENCE_S
    for path in paths:
        page = fetch(base + path, until)
        if path.endswith(".json"):
            json.loads(page)
        print(f"{path}: {len(page)} bytes")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
