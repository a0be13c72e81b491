"""Settings of `rackfit fit` on the command line: each is understood, and refused in one line where it is bad."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from programs import rackfit

ASKED = {
    "layers": (("Llama-3.1-70B", "--on", "rtx-3090", "--precision", "q4_k_m", "--gpu-layers", "40"), "offload"),
    "experts": (("Qwen3-30B-A3B", "--on", "rtx-3090", "--precision", "q8_0", "--cpu-experts", "auto"), "offload"),
    "draft": (("Llama-3.1-70B", "--on", "4x h100-sxm5-80gb", "--draft", "Llama-3.1-8B"), "per_device"),
    "adapters": (("Llama-3.1-8B", "--on", "h100-sxm5-80gb", "--lora-slots", "4", "--lora-rank", "32"), "per_device"),
    "images": (("gemma-3-27b-it", "--on", "h100-sxm5-80gb", "--images", "2"), "per_device"),
    "split": (("Llama-3.1-8B", "--on", "1x rtx-3090 + 1x rtx-3070", "--split", "24,8"), "placement"),
    "host": (("Qwen3-8B", "--on", "cpu", "--host-ram", "64"), "per_device"),
    "together": (("Qwen3-8B", "Qwen3-4B", "--on", "h100-sxm5-80gb"), "models"),
}


@pytest.mark.parametrize("name", ASKED)
def test_json(name: str, catalog: Path) -> None:
    """Each setting answers with one JSON document that has the part it is about."""
    arguments, part = ASKED[name]
    done = rackfit("fit", *arguments, "--json", catalog=catalog)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[part]


@pytest.mark.parametrize("name", ASKED)
def test_table(name: str, catalog: Path) -> None:
    """People get the verdict first."""
    done = rackfit("fit", *ASKED[name][0], catalog=catalog)

    assert done.returncode == 0, done.stderr
    assert done.stdout.split(":")[0] in ("FITS", "TIGHT", "NO")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("Qwen3-8B", "Qwen3-4B"), "--on"),
        (("Qwen3-8B", "--on", "cpu"), "--host-ram"),
        (("Qwen3-8B", "--on", "rtx-4090", "--gpu-layers", "many"), "many"),
        (("Qwen3-8B", "--on", "rtx-4090", "--split", "1,x"), "1,x"),
        (("Qwen3-8B", "--on", "rtx-4090", "--draft", "no-such-model"), "no-such-model"),
        (("Qwen3-8B", "--on", "rtx-4090", "--images", "0"), "--images"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], named: str, catalog: Path) -> None:
    """What cannot be read is refused with exit status 2 and one line that names it."""
    done = rackfit("fit", *arguments, catalog=catalog)

    assert done.returncode == 2
    assert done.stderr.startswith("rackfit: ")
    assert done.stderr.count("\n") == 1
    assert named in done.stderr
