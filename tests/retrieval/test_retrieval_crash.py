"""The index after the process was killed, or after everything but the log was lost."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sys
from pathlib import Path

import pytest

from retrieval_svc.query import Query
from retrieval_svc.store.protocol import PointCounts
from tests.retrieval.crash_writer import PARTS, parts
from tests.retrieval.retrieval_kit import open_kit

ROOT = Path(__file__).parents[2]
# More for a long run by hand.
KILLS = int(os.environ.get("RADREF_TEST_KILLS", "5"))


async def killed_writer(root: Path, seconds: float, *, since: str) -> tuple[int, int]:
    """Lets the writer work that long after its first line that starts with `since`.

    Returns:
        The versions last begun and last finished.
    """
    writer = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.retrieval.crash_writer", str(root)),
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    assert writer.stdout is not None
    lines: list[str] = []
    try:
        async with asyncio.timeout(60):
            while not any(line.startswith(since) for line in lines):
                line = await writer.stdout.readline()
                assert line, f"the writer died by itself: {lines}"
                lines.append(line.decode().strip())
        await asyncio.wait([asyncio.create_task(writer.wait())], timeout=seconds)
        assert writer.returncode is None, "the writer died by itself"
    finally:
        if writer.returncode is None:
            writer.kill()
    rest = await writer.stdout.read()
    await writer.wait()
    lines += rest.decode().splitlines()
    begun = [int(line.split()[1]) for line in lines if line.startswith("activating ")]
    finished = [int(line.split()[1]) for line in lines if line.startswith("active ")]
    return max(begun, default=0), max(finished, default=0)


async def test_killed_writer_leaves_one_whole_version(tmp_path: Path) -> None:
    root = tmp_path / "index"
    delays = random.Random(7)
    served = 0
    for kill in range(KILLS):
        # Every other one after a switch, however slow the machine is: else a busy one never gets that far.
        since = "active " if kill % 2 else "ready"
        begun, finished = await killed_writer(root, delays.uniform(0.02, 2.0), since=since)
        kit = await open_kit(root)
        active = kit.catalogue.snapshot.active.get("d")
        version = active.version if active else 0
        assert version in {max(begun, served), max(finished, served)}
        assert version >= max(finished, served), "an acknowledged switch was lost"
        retrieval = await kit.retriever.retrieve(Query("dose limit part of version"))
        found = sorted(p.parent.text for p in retrieval.parents if p.record.document_id == "d")
        assert found == (sorted(parts(version)) if version else [])
        stored = await kit.store.stored_stages()
        for record in kit.catalogue.snapshot.stages.values():
            assert stored[record.stage] == PointCounts(record.parents, record.children)
        if active:
            assert (active.parents, active.children) == (PARTS, 2 * PARTS)
        served = version
        await kit.close()
    assert served > 0, "the writer never came to activate anything"


@pytest.mark.parametrize("activate", [False, True])
async def test_log_alone_is_enough(tmp_path: Path, activate: bool) -> None:
    """A power failure may leave of a shard what the last flush wrote, and the log, which is synced."""
    root, image = tmp_path / "index", tmp_path / "image"
    kit = await open_kit(root)
    await kit.put("d", 1, parts(1))
    await kit.store.maintain()
    shards = [Path("catalogue"), Path("parents"), Path("collections/safety")]
    flushed = {shard: tmp_path / "flushed" / shard for shard in shards}
    for shard, copy in flushed.items():
        shutil.copytree(root / shard, copy)
    await kit.put("d", 2, parts(2), activate=activate)
    image.mkdir()
    shutil.copy(root / "index.json", image)
    for shard, copy in flushed.items():
        shutil.copytree(copy, image / shard, ignore=shutil.ignore_patterns("wal"))
        shutil.copytree(root / shard / "wal", image / shard / "wal")
    await kit.close()

    again = await open_kit(image)
    if not activate:
        assert await again.index.activate("d", 2) == 1
    retrieval = await again.retriever.retrieve(Query("dose limit part of version"))
    assert sorted(found.parent.text for found in retrieval.parents) == sorted(parts(2))
    await again.close()
