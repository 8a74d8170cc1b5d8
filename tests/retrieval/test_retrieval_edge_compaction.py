"""When a shard is optimised, and the copy that is."""

import os
from pathlib import Path

import pytest

from retrieval_svc.store.edge.compaction import compaction_due, copy_with_holes


@pytest.mark.parametrize(
    ("changes", "quiet", "points", "due"),
    [
        (99, True, 100, False),
        (100, True, 100_000, True),
        (100, False, 100_000, False),
        (25_000, False, 100_000, True),
        (100, False, 100, True),
        # Deleted points count as changes and are no longer there.
        (100, False, 0, True),
    ],
)
def test_a_growing_shard_waits_until_much_is_new(changes: int, quiet: bool, points: int, due: bool) -> None:
    assert compaction_due(changes, quiet=quiet, points=points, least=100) is due


def test_a_bulk_load_rebuilds_a_logarithmic_number_of_times() -> None:
    changes = rebuilds = rebuilt = 0
    for points in range(1000, 1_000_001, 1000):
        changes += 1000
        if compaction_due(changes, quiet=False, points=points, least=5000):
            changes, rebuilds, rebuilt = 0, rebuilds + 1, rebuilt + points
    assert rebuilds <= 25
    assert rebuilt <= 5 * 1_000_000


@pytest.mark.parametrize("tail", [b"", b"end"])
def test_a_copy_keeps_holes(tmp_path: Path, tail: bytes) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    with source.open("wb") as file:
        file.write(b"begin")
        file.seek(16 << 20)
        file.write(b"middle" * 10_000)
        file.truncate(32 << 20)
        file.seek(0 if not tail else -len(tail), os.SEEK_END)
        file.write(tail)
    copy_with_holes(str(source), str(target))
    assert target.read_bytes() == source.read_bytes()
    assert target.stat().st_blocks <= source.stat().st_blocks + 64
    assert target.stat().st_blocks * 512 < 1 << 20


@pytest.mark.parametrize("content", [b"", b"abc" * 100_000])
def test_a_copy_of_a_file_without_holes(tmp_path: Path, content: bytes) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(content)
    source.chmod(0o640)
    assert copy_with_holes(str(source), str(target)) == str(target)
    assert target.read_bytes() == content
    assert target.stat().st_mode & 0o777 == 0o640
