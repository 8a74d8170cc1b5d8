"""Optimises a copy of a shard in a child process.

`EdgeShard.optimize` holds the interpreter's lock from beginning to end (11.6 s for 16,000 children): inside
the service it would stop every call and the probes. The child works on a copy that later takes the shard's
place.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path

import qdrant_edge as edge

from radref.errors import Unavailable

# HNSW over 100,000 children takes some minutes of one core; a child that takes this long hangs.
CHILD_TIMEOUT_SECONDS = 1800.0
_NICENESS = 10


async def optimised_copy(source: Path, target: Path) -> None:
    """Copies a shard's files and optimises the copy.

    The caller keeps writers away from `source` and has flushed it; readers may go on.

    Raises:
        Unavailable: the child failed or timed out; `target` is removed.
    """
    try:
        await asyncio.to_thread(shutil.copytree, source, target)
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", __name__, str(target)), stdout=asyncio.subprocess.DEVNULL
        )
        try:
            async with asyncio.timeout(CHILD_TIMEOUT_SECONDS):
                code = await child.wait()
        except BaseException:
            child.kill()
            await child.wait()
            raise
        if code != 0:
            raise Unavailable(f"optimising a shard failed (child exit code {code})")
    except TimeoutError:
        await asyncio.to_thread(shutil.rmtree, target)
        raise Unavailable("optimising a shard took too long") from None
    except BaseException:
        await asyncio.to_thread(shutil.rmtree, target, ignore_errors=True)
        raise


def main() -> None:
    """Child process: optimises the shard named on the command line in place."""
    os.nice(_NICENESS)
    shard = edge.EdgeShard.load(sys.argv[1])
    shard.optimize()
    shard.flush()
    shard.close()


if __name__ == "__main__":
    main()
