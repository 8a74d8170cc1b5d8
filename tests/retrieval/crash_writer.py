"""Child process of test_retrieval_crash: stages, switches and maintains without end, until it is killed.

Every other version is followed by a generation for another model, which takes the place of the one before.
Prints "activating N" before and "active N" after every switch of document "d" to version N.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.retrieval.retrieval_kit import FINGERPRINT, Kit, open_kit

PARTS = 6
OTHER = {FINGERPRINT: "0123456789abcdef"}


def parts(version: int) -> list[str]:
    """Texts of a version; they share all words but the last."""
    return [f"dose limit part {part} of version {version}" for part in range(PARTS)]


async def rebuild(kit: Kit) -> None:
    """Builds a generation for the other model and switches to it, going on where a killed one stopped."""
    generations = kit.generations
    old = generations.searched.fingerprint
    new = generations.building_fingerprint or OTHER.get(old, FINGERPRINT)
    await generations.begin(new)
    for document, record in list(kit.catalogue.snapshot.active.items()):
        topic = record.metadata.topic
        texts = parts(record.version) if document == "d" else ["tube voltage"]
        pieces = record.children // record.parents
        await kit.put(
            document, record.version, texts, topic=topic, pieces=pieces, fingerprint=new, activate=False
        )
    await generations.switch(new)


async def main(root: Path) -> None:
    # Two shards pass this in a few rounds: compaction is among what gets killed.
    kit = await open_kit(root, compact_after_changes=60, retention=0, grace=0)
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
        if version % 2 == 0:
            await rebuild(kit)
    await maintaining


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
