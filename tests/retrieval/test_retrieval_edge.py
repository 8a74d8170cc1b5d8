"""What is special about the embedded store: one owner, atomic files, replaced shards."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from radref.errors import PreconditionFailed, Unavailable
from retrieval_svc.model import Filters, IndexIdentity
from retrieval_svc.query import Topics
from retrieval_svc.store.edge.shard import sync_log
from tests.retrieval.retrieval_kit import TOPICS, Kit, open_kit, vector_of

ROOT = Path(__file__).parents[2]
HOLD = """
import asyncio, sys
from pathlib import Path
from tests.retrieval.retrieval_kit import open_kit
async def main():
    kit = await open_kit(Path(sys.argv[1]))
    print("held", flush=True)
    await asyncio.sleep(60)
    await kit.close()
asyncio.run(main())
"""


async def test_second_owner_in_this_process(tmp_path: Path) -> None:
    kit = await open_kit(tmp_path / "index")
    with pytest.raises(PreconditionFailed, match="in use by another process"):
        await open_kit(tmp_path / "index")
    await kit.close()
    await (await open_kit(tmp_path / "index")).close()


async def test_second_owner_in_another_process(tmp_path: Path) -> None:
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLD, str(tmp_path / "index"), stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    try:
        assert holder.stdout is not None
        assert (await holder.stdout.readline()).strip() == b"held"
        with pytest.raises(PreconditionFailed, match=f"pid {holder.pid}"):
            await open_kit(tmp_path / "index")
    finally:
        holder.kill()
        await holder.wait()
    await (await open_kit(tmp_path / "index")).close()


async def test_damaged_or_newer_description(tmp_path: Path) -> None:
    root = tmp_path / "index"
    root.mkdir()
    (root / "index.json").write_text("{")
    with pytest.raises(PreconditionFailed, match=r"index\.json"):
        await open_kit(root)
    (root / "index.json").write_text(json.dumps({"format_version": 99}))
    with pytest.raises(PreconditionFailed, match="format 99"):
        await open_kit(root)
    (root / "index.json").unlink()
    await (await open_kit(root)).close()


async def test_topics_may_be_added_not_dropped(tmp_path: Path) -> None:
    root = tmp_path / "index"
    kit = await open_kit(root)
    await kit.put("d", 1, ["dose limits"], topic="physics")
    await kit.close()
    with pytest.raises(PreconditionFailed, match="physics"):
        await open_kit(root, topics=Topics(("safety", "glossary"), ("consult",)))
    kit = await open_kit(root, topics=Topics((*TOPICS.default, "anatomy"), TOPICS.on_request))
    store = kit.store
    assert dict((await store.counts()).children)["anatomy"] == 0
    found = await store.search_dense("anatomy", vector_of("x"), limit=1, filters=Filters())
    assert found.hits == []
    await kit.close()


@pytest.mark.parametrize("moment", ["before", "between", "after", "described only"])
async def test_interrupted_replacement(tmp_path: Path, moment: str) -> None:
    """A crash around the renames of a compaction, or right after index.json was written."""
    root = tmp_path / "index"
    kit = await open_kit(root)
    await kit.put("d", 1, ["dose limits"])
    await kit.close()
    shard = root / "collections" / "safety"
    if moment == "before":
        shutil.copytree(shard, shard.with_name("safety.building-1"))
    elif moment == "between":
        shutil.copytree(shard, shard.with_name("safety.building-1"))
        shard.rename(shard.with_name("safety.replaced"))
    elif moment == "after":
        shutil.copytree(shard, shard.with_name("safety.replaced"))
    else:
        shutil.rmtree(root / "parents")
        shutil.rmtree(root / "catalogue")
    again = await open_kit(root)
    assert [path.name for path in (root / "collections").iterdir()] == ["safety"]
    assert {path.name for path in root.iterdir() if path.is_dir()} == {"catalogue", "collections", "parents"}
    assert (
        len((await again.store.search_dense("safety", vector_of("dose"), limit=5, filters=Filters())).hits)
        == 1
    )
    await again.close()


async def test_failure_is_unavailable(kit: Kit) -> None:
    await kit.put("d", 1, ["dose limits"])
    with pytest.raises(Unavailable) as caught:
        await kit.store.search_dense("safety", [1.0, 0.0], limit=5, filters=Filters())
    assert caught.value.metadata == {"backend": "vector-store"}


async def test_children_beyond_the_kept_ones_are_read_again(kit: Kit) -> None:
    await kit.put("d", 1, [f"dose {number}" for number in range(9)])
    places = kit.store._child_search  # type: ignore[attr-defined]
    places._places.capacity = 2
    first = await kit.store.search_dense("safety", vector_of("dose"), limit=9, filters=Filters())
    assert len(places._places) == 2
    again = await kit.store.search_dense("safety", vector_of("dose"), limit=9, filters=Filters())
    assert again.hits == first.hits
    assert len({hit.child for hit in again.hits}) == 9


async def test_a_caller_that_goes_away_while_shards_are_opened_leaves_the_store_usable(
    tmp_path: Path,
) -> None:
    kit = await open_kit(tmp_path / "index")
    store = kit.store
    opening = asyncio.create_task(store.initialise(IndexIdentity("f" * 16, 4, "sparse")))
    while not (tmp_path / "index" / "index.json").exists():
        await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    await store.initialise(IndexIdentity("f" * 16, 4, "sparse"))
    assert (await store.counts()).parents == 0
    await kit.close()


def test_a_part_of_the_log_that_goes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found with 100,000 children: the engine drops parts of its log while they are being synced."""
    log_directory = tmp_path / "wal"
    log_directory.mkdir()
    names = {"closed-1", "closed-2", "open-3"}
    for name in names:
        (log_directory / name).write_bytes(b"x")
    synced: list[str] = []
    real = os.open

    def opened(path: str | Path, *args: int) -> int:
        if Path(path).name == "closed-1":
            (log_directory / "closed-1").unlink()
        synced.append(Path(path).name)
        return real(path, *args)

    monkeypatch.setattr(os, "open", opened)
    sync_log(tmp_path)
    assert {"closed-2", "open-3", "wal"} <= set(synced)
    with pytest.raises(FileNotFoundError):
        sync_log(tmp_path / "nowhere")
