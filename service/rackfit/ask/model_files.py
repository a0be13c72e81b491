"""Models that are files, as the subject of a question: a path on the command line, or the text of a config.json."""

from __future__ import annotations

from pathlib import Path

from rackfit.ask.question import Subject
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.published import PublishedFile
from rackfit.modelfiles.paths import is_own_file
from rackfit.modelfiles.reading import ModelFile, read_model_file, read_text


def model_argument(text: str) -> str | Subject:
    """Return what a MODEL argument stands for: the model in a file where there is one, else the name as it is.

    Published files have names that look like paths: whether one is on record is for the catalog to say.

    Raises:
        UsageError: no such file. UnsupportedError: a file that cannot be read, with the reason.
    """
    return read_model(Path(text).expanduser()) if is_own_file(text) else text


def read_model(path: Path | str) -> Subject:
    """Return the model of a config.json, .safetensors or .gguf file, or of a folder of them, to ask about.

    Raises:
        UsageError: no such file. UnsupportedError: a file that cannot be read, with the reason.
    """
    return _subject(read_model_file(Path(path)))


def pasted_model(text: str, name: str = "config.json") -> Subject:
    """Return the model of the text of a config.json.

    Raises:
        UsageError: the text is too long or no JSON. UnsupportedError: it describes no model that is read here.
    """
    return _subject(read_text(text, name))


def _subject(file: ModelFile) -> Subject:
    weights = (
        PublishedFile(file.name, file.bytes, file.with_towers, file.with_towers)
        if file.bytes and file.precision_id
        else None
    )
    read = f"model: read from {file.name}, not from a record"
    if file.bytes and weights is None:
        read += f"; its {file.bytes:,} bytes are not used, for its format is not known"
    return Subject(
        Anatomy(file.model), file.name, None, file.precision_id, file.model.max_context, weights, (read, *file.notes)
    )
