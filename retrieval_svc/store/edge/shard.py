"""Files of one shard of the embedded engine: made, found again after a crash, replaced as a whole.

What the engine does (0.9.0; tests/retrieval kills it and takes its files away): an update goes to a
write-ahead log, which is replayed at load from the last flush on. The log is written without sync: an update
survives the death of the process, and a power failure once the log's files are synced. The engine's own
`flush` syncs some hundred files and holds the interpreter's lock meanwhile (200 ms and more on a busy disk),
so it is left to the background. Creating a shard is not atomic, and a death during `optimize` leaves segments
behind that hold points twice. So a shard is created, and optimised, as another directory that takes its place
by rename.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import qdrant_edge as edge
import structlog

from retrieval_svc.store.edge.directory import BUILDING, REPLACED, sync_directory
from retrieval_svc.store.payloads import DENSE, SPARSE

log = structlog.get_logger()

_SYNC_ATTEMPTS = 10


def collection_config(dimension: int) -> edge.EdgeConfig:
    """Two vectors a child. No IDF modifier: the query brings its own weights, see `retrieval_svc.terms`."""
    return edge.EdgeConfig(
        vectors={DENSE: edge.EdgeVectorParams(size=dimension, distance=edge.Distance.Cosine)},
        sparse_vectors={SPARSE: edge.EdgeSparseVectorParams()},
    )


def parents_config() -> edge.EdgeConfig:
    """The BM25 vector of a parent."""
    return edge.EdgeConfig(sparse_vectors={SPARSE: edge.EdgeSparseVectorParams()})


def catalogue_config() -> edge.EdgeConfig:
    """Payload only; the engine wants one vector to be declared, no point has it."""
    return edge.EdgeConfig(sparse_vectors={"unused": edge.EdgeSparseVectorParams()})


def open_shard(
    path: Path, config: Callable[[], edge.EdgeConfig], indexed: Mapping[str, edge.PayloadSchemaType]
) -> edge.EdgeShard:
    """Loads a shard, creating it where there is none and finishing what a crash interrupted.

    Args:
        indexed: payload fields that get an index when the shard is created.
    """
    replaced = _beside(path, REPLACED)
    if replaced.exists() and not path.exists():
        replaced.rename(path)
    shutil.rmtree(replaced, ignore_errors=True)
    for leftover in path.parent.glob(f"{path.name}{BUILDING}*"):
        # Best effort: after a kill an orphaned compaction may still work in it, under a unique name.
        shutil.rmtree(leftover, ignore_errors=True)
    if not path.exists():
        _create(path, config(), indexed)
    return edge.EdgeShard.load(str(path), config())


def sync_log(path: Path) -> None:
    """Makes every update so far survive a power failure. Nobody may write to the shard meanwhile.

    Raises:
        OSError: a file cannot be synced.
    """
    log_directory = path / "wal"
    for attempt in range(_SYNC_ATTEMPTS):
        try:
            for file in log_directory.iterdir():
                _sync_file(file)
            break
        except FileNotFoundError:
            # Under many writes the engine drops or renames a part of its log by itself: look again.
            if attempt == _SYNC_ATTEMPTS - 1:
                raise
    sync_directory(log_directory)


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def building_path(path: Path, token: str) -> Path:
    """Where a replacement is prepared. `token` is unique: an orphaned child may still write to an old one."""
    return _beside(path, f"{BUILDING}{token}")


def replace_shard(
    path: Path, old: edge.EdgeShard, building: Path, config: Callable[[], edge.EdgeConfig]
) -> edge.EdgeShard:
    """Puts a finished replacement in the place of an open shard; a crash at any point leaves one of the two.

    The old files stay beside it until `discard_replaced`.

    Returns:
        The open replacement, or the old shard opened again where the replacement cannot be used (logged).
    """
    replaced = _beside(path, REPLACED)
    old.close()
    try:
        path.rename(replaced)
        building.rename(path)
        sync_directory(path.parent)
        shard = edge.EdgeShard.load(str(path), config())
    except Exception as exc:  # noqa: BLE001 - whatever it is, the old shard must serve on
        log.error("optimised shard not usable, the old one stays", shard=path.name, error=type(exc).__name__)
        if replaced.exists():
            shutil.rmtree(path, ignore_errors=True)
            replaced.rename(path)
        return edge.EdgeShard.load(str(path), config())
    return shard


def discard_replaced(path: Path) -> None:
    """Deletes what `replace_shard` left of the old shard; where a crash prevents it, `open_shard` does."""
    shutil.rmtree(_beside(path, REPLACED), ignore_errors=True)


def _create(path: Path, config: edge.EdgeConfig, indexed: Mapping[str, edge.PayloadSchemaType]) -> None:
    building = building_path(path, "new")
    building.mkdir(parents=True)
    shard = edge.EdgeShard.create(str(building), config)
    for field, schema in indexed.items():
        shard.update(edge.UpdateOperation.create_field_index(field, schema))
    shard.flush()
    shard.close()
    building.rename(path)
    sync_directory(path.parent)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
