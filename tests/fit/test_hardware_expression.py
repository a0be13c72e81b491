"""Hardware expressions: what people write, taken apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackfit.errors import UsageError
from rackfit.fit.hardware_expression import HardwareExpression, Part, parse_hardware


@pytest.mark.parametrize(
    ("text", "parts", "nodes"),
    [
        ("8x h100-sxm5-80gb", [Part(8, "h100-sxm5-80gb", None, True)], 1),
        ("8 x H100", [Part(8, "H100", None, True)], 1),
        ("8×H100", [Part(8, "H100", None, True)], 1),
        ("4x-nvidia-gb10", [Part(4, "nvidia-gb10", None, True)], 1),
        ("dgx-h100", [Part(1, "dgx-h100")], 1),
        ("2 nodes x dgx-h100", [Part(1, "dgx-h100")], 2),
        ("2 nodes x 8x h100-sxm5-80gb", [Part(8, "h100-sxm5-80gb", None, True)], 2),
        ("1x rtx-3090 + 1x rtx-3070", [Part(1, "rtx-3090", None, True), Part(1, "rtx-3070", None, True)], 1),
        ("RTX 4090 + RTX 3090 Ti", [Part(1, "RTX 4090"), Part(1, "RTX 3090 Ti")], 1),
        ("a100-sxm4-80gb/2g.20gb", [Part(1, "a100-sxm4-80gb", "2g.20gb")], 1),
        ("4x a100-sxm4-80gb/1g.10gb+me", [Part(4, "a100-sxm4-80gb", "1g.10gb+me", True)], 1),
        ("H200/H20", [Part(1, "H200/H20")], 1),
        ("aws-p5-48xlarge", [Part(1, "aws-p5-48xlarge")], 1),
        ("p4d.24xlarge", [Part(1, "p4d.24xlarge")], 1),
        ("gpu_8x_h100_sxm5", [Part(1, "gpu_8x_h100_sxm5")], 1),
    ],
)
def test_expressions(text: str, parts: list[Part], nodes: int) -> None:
    """Counts, nodes, unlike devices and MIG profiles are read as people write them."""
    found = parse_hardware(text)
    assert list(found.parts) == parts
    assert found.nodes == nodes


@pytest.mark.parametrize(
    ("text", "name", "gib"),
    [
        ("H100 80GB (79.18 GiB usable)", "H100 80GB", 79.18),
        ("B300 (268GB usable)", "B300", 268e9 / 2**30),
        ("NVIDIA B200 (178.4 GiB)", "NVIDIA B200", 178.4),
        ("A100-80GB (330W limit)", "A100-80GB", None),
        ("GB300 (4-GPU tray)", "GB300", None),
    ],
)
def test_remarks(text: str, name: str, gib: float | None) -> None:
    """A remark in brackets is kept, and usable memory in it is read: GiB as binary, GB as decimal."""
    found = parse_hardware(text)
    assert found.parts[0].name == name
    assert found.usable_gib == pytest.approx(gib)
    assert found.remark is not None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "hardware is empty"),
        ("   ", "hardware is empty"),
        ("0x h100", "0 devices, expected 1 to 100000"),
        ("999999999999x h100", "devices, expected 1 to"),
        ("0 nodes x dgx-h100", "0 nodes"),
        ("8x", "hardware"),
        ("8x rtx-3090 + ", "no name"),
        ("8x h100 (79 GiB usable", "a bracket is not closed"),
        ("a100-sxm4-80gb/2g", "'2g' is no MIG profile"),
        ("a100-sxm4-80gb/9g.99", "'9g.99' is no MIG profile"),
        ("8x 2 nodes x dgx-h100", "nodes stand first"),
        ("(80 GB)", "no name"),
        ("8x ---", "no name"),
    ],
)
def test_what_cannot_be_read(text: str, said: str) -> None:
    """What cannot be read is one line that names the place."""
    if text == "8x":
        assert parse_hardware(text).parts[0] == Part(1, "8x")
        return
    with pytest.raises(UsageError) as raised:
        parse_hardware(text)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,6}(-[a-z0-9]{1,5}){0,3}", fullmatch=True).filter(
    lambda name: "node" not in name
)
PARTS = st.builds(
    Part,
    st.just(1),
    NAMES,
    st.one_of(st.none(), st.sampled_from(["1g.5gb", "2g.20gb", "7g.80gb", "1g.10gb+me"])),
    st.just(False),
) | st.builds(Part, st.integers(1, 64), NAMES, st.none(), st.just(True))


@given(st.lists(PARTS, min_size=1, max_size=4), st.integers(1, 16))
def test_written_and_read_again(parts: list[Part], nodes: int) -> None:
    """An expression in its usual form reads as itself."""
    expression = HardwareExpression(tuple(parts), nodes)
    assert parse_hardware(str(expression)) == expression


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Free text gives an expression with names and sane counts, or one clear line; nothing else."""
    try:
        found = parse_hardware(text)
    except UsageError as error:
        assert "\n" not in str(error).replace(repr(text), "")
        return
    assert found.parts
    assert all(part.name and 1 <= part.count <= 100_000 for part in found.parts)
