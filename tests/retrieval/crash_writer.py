"""Child process of test_retrieval_crash: stages, switches and maintains without end, until it is killed.

Prints "activating N" before and "active N" after every switch of document "d" to version N.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.retrieval.retrieval_kit import Kit, open_store

PARTS = 6


def parts(version: int) -> list[str]:
    """Texts of a version; they share all words but the last."""
    return [f"dose limit part {part} of version {version}" for part in range(PARTS)]


async def main(root: Path) -> None:
    # Two shards pass this in a few rounds: compaction is among what gets killed.
    store = await open_store(root, compact_after_changes=60)
    kit = Kit(store, retention=0, grace=0)
    await kit.index.load()
    active = kit.catalogue.snapshot.active.get("d")
    version = active.version if active else 0

    async def maintain() -> None:
        while True:
            await kit.maintenance.sweep()
            await asyncio.sleep(0.05)

    maintaining = asyncio.create_task(maintain())
    print("ready", flush=True)
    while not maintaining.done():
        version += 1
        await kit.put("d", version, parts(version), activate=False, pieces=2)
        print(f"activating {version}", flush=True)
        await kit.index.activate("d", version)
        print(f"active {version}", flush=True)
        await kit.put(f"other-{version % 3}", version, ["tube voltage"], topic="physics")
    await maintaining


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
