"""Optimises a copy of a shard in a child process.

`EdgeShard.optimize` holds the interpreter's lock from beginning to end (11.6 s for 16,000 children): inside
the service it would stop every call and the probes. The child works on a copy that later takes the shard's
place.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import sys
from pathlib import Path

import qdrant_edge as edge

from radref.errors import Unavailable

# HNSW takes about a millisecond of one core a child; a process that takes twenty times as long hangs.
_CHILD_TIMEOUT_SECONDS = 1800.0
_CHILD_TIMEOUT_SECONDS_A_POINT = 0.02
# While documents keep coming, a shard is optimised again only when this share of its points is new: the
# engine makes the graph of a whole segment anew, at every 10,000 points if it is let. A bulk load of n points
# would cost n / 20,000 times the last graph; with this share it costs at most five times the last one.
_SHARE_TO_REBUILD = 0.25
_NICENESS = 10


def compaction_due(changes: int, *, quiet: bool, points: int, least: int) -> bool:
    """Whether a shard is worth optimising now.

    Args:
        changes: points written or deleted since it was optimised.
        quiet: none of them since this was last asked.
        points: in the shard.
        least: changes below which it never is, >= 1.
    """
    return changes >= least and (quiet or changes >= _SHARE_TO_REBUILD * points)


async def optimised_copy(source: Path, target: Path, *, points: int) -> None:
    """Copies a shard's files and optimises the copy.

    The caller keeps writers away from `source` and has flushed it; readers may go on.

    Args:
        points: in the shard; a large one may take longer.

    Raises:
        Unavailable: the child failed or timed out; `target` is removed.
    """
    try:
        await asyncio.to_thread(shutil.copytree, source, target, copy_function=copy_with_holes)
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", __name__, str(target)), stdout=asyncio.subprocess.DEVNULL
        )
        try:
            async with asyncio.timeout(_CHILD_TIMEOUT_SECONDS + points * _CHILD_TIMEOUT_SECONDS_A_POINT):
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


def copy_with_holes(source: str, target: str) -> str:
    """Copies a file without writing what was never written; returns `target`.

    The engine makes its files 4 to 32 MB long before anything is in them, eight or more a shard. `shutil`
    fills the holes: a small shard of 1 MB then takes 200 MB of disk and, mapped, of memory.
    """
    with open(source, "rb") as reading, open(target, "wb") as writing:
        size, end = os.fstat(reading.fileno()).st_size, 0
        while end < size:
            try:
                start = os.lseek(reading.fileno(), end, os.SEEK_DATA)
            except OSError as exc:
                if exc.errno != errno.ENXIO:  # it says that there is only a hole left
                    raise
                break
            end = os.lseek(reading.fileno(), start, os.SEEK_HOLE)
            os.lseek(writing.fileno(), start, os.SEEK_SET)
            while start < end:
                sent = os.sendfile(writing.fileno(), reading.fileno(), start, end - start)
                if not sent:
                    raise OSError(errno.EIO, "the file became shorter while it was copied")
                start += sent
        os.ftruncate(writing.fileno(), size)
    shutil.copymode(source, target)
    return target


def main() -> None:
    """Child process: optimises the shard named on the command line in place."""
    os.nice(_NICENESS)
    shard = edge.EdgeShard.load(sys.argv[1])
    shard.optimize()
    shard.flush()
    shard.close()


if __name__ == "__main__":
    main()
