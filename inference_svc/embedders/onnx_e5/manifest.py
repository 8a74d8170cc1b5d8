"""What a converted model's directory says of itself, and whether its files still agree."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from inference_svc.embedders.onnx_e5.weights import file_sha256

MANIFEST = "manifest.json"
ENCODER = "encoder.onnx"
TOKENIZER = "tokenizer.json"


@dataclass(frozen=True)
class Manifest:
    """Written last, so a directory with a manifest is complete.

    Attributes:
        source_sha256: of the weight file the model was made from.
        files: name -> SHA-256.
        dimension: length of a vector.
        window: positions of the encoder, tokens.
        bos, eos, pad: ids of the special tokens.
    """

    source_sha256: str
    files: dict[str, str]
    dimension: int
    window: int
    bos: int
    eos: int
    pad: int

    def write(self, directory: Path) -> None:
        """Raises OSError."""
        body = asdict(self)
        text = json.dumps({**body, "checksum": _checksum(body)}, indent=1, sort_keys=True)
        (directory / MANIFEST).write_text(text, encoding="utf-8")


def file_digests(directory: Path) -> dict[str, str]:
    """SHA-256 of the model's files. Raises OSError."""
    return {name: file_sha256(directory / name) for name in (ENCODER, TOKENIZER)}


def intact_manifest(directory: Path, source_sha256: str) -> Manifest | None:
    """The manifest when it and all files are as they were written, else None.

    Hashes every byte: about 0.15 s for 155 MB, little beside loading them.
    """
    try:
        body = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
        if body.pop("checksum") != _checksum(body):
            return None
        manifest = Manifest(**body)
        intact = manifest.source_sha256 == source_sha256 and manifest.files == file_digests(directory)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return manifest if intact else None


def _checksum(body: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode("utf-8")).hexdigest()
