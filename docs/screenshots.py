"""Take the pictures of docs/screenshots from a running site; look at them before they are committed.

    rackfit serve & python docs/screenshots.py [ADDRESS] [NAME ...]

Needs what the browser tests need: Playwright and a Chromium. Pictures are cut to their first screens and reduced to a
palette, so that all of them stay below 1.5 MB.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "screenshots"
ADDRESS = "http://127.0.0.1:8001"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")

DESK, PHONE = (1280, 1000), (390, 844)
PICTURES = {
    "front": ("/", DESK, "light"),
    "front-phone": ("/", PHONE, "dark"),
    "model": ("/model/qwen/qwen3-32b", DESK, "light"),
    "model-phone": ("/model/qwen/qwen3-32b", PHONE, "dark"),
    "hardware": ("/hardware/nvidia-h100-sxm5-80gb", DESK, "light"),
    "system": ("/system/nvidia-dgx-h100", DESK, "light"),
    "compare": ("/compare?items=nvidia-l4,nvidia-l40s,apple-m4-max-128gb", DESK, "light"),
    "why": ("/why?model=qwen%2Fqwen3-32b&on=rtx-4090", DESK, "light"),
    "why-phone": ("/why?model=qwen%2Fqwen3-32b&on=rtx-4090", PHONE, "dark"),
    "calculator": ("/calculator?model=qwen%2Fqwen3-32b&on=2x+rtx-4090&context=32768&sequences=4", DESK, "light"),
    "train": ("/train?model=qwen%2Fqwen3-8b&on=8x+h100-sxm5-80gb", DESK, "light"),
    "plan": ("/plan?model=qwen%2Fqwen3-32b&users=20&context=16384", DESK, "light"),
    "cost": ("/cost?model=qwen%2Fqwen3-32b&on=2x+h100-sxm5-80gb", DESK, "light"),
    "quote": ("/quote?models=qwen3-32b,gpt-oss-120b&on=nvidia-dgx-h100,4x+l40s&context=16k&sequences=4", DESK, "light"),
    "accuracy": ("/accuracy", DESK, "dark"),
    "sources": ("/sources", DESK, "light"),
    "glossary": ("/glossary", DESK, "light"),
    "table": ("/catalog/inference_fits?model_id=qwen%2Fqwen3-32b&verdict=fits&_sort=margin_bytes", DESK, "light"),
    "table-phone": ("/catalog/best_fits?model_id=qwen%2Fqwen3-32b", PHONE, "dark"),
}
"""File name -> address, width and height, scheme."""


def smaller(path: Path) -> None:
    """Reduce a picture to 128 colours, rare ones kept, where Pillow is here."""
    try:
        from PIL import Image
    except ImportError:
        print("Pillow is not here: pictures keep all their colours", file=sys.stderr)
        return
    picture: Any = (
        Image.open(path).convert("RGB").quantize(128, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    )
    picture.save(path, optimize=True)


def main(arguments: list[str]) -> int:
    """Take all pictures, or those that are named."""
    from playwright.sync_api import sync_playwright

    address = arguments.pop(0) if arguments and "://" in arguments[0] else ADDRESS
    unknown = set(arguments) - PICTURES.keys()
    command = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if unknown or command is None:
        print(f"no picture {', '.join(sorted(unknown))}" if unknown else "no Chromium here", file=sys.stderr)
        return 2
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=command, args=["--no-sandbox", "--disable-gpu"])
        for name in arguments or PICTURES:
            path, (width, height), scheme = PICTURES[name]
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            page.goto(address.rstrip("/") + path)
            page.screenshot(path=FOLDER / f"{name}.png")
            page.close()
            smaller(FOLDER / f"{name}.png")
            print(f"docs/screenshots/{name}.png")
        browser.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
