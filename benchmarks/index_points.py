"""Every point of a shard of an embedded index that nobody has open. Read a copy of the folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import qdrant_edge as edge

_PAGE = 1000


def points_of(shard_folder: Path, *, with_vector: bool) -> Iterator[Any]:
    """Records with payload, and with their vectors where wanted, in the order of their ids."""
    shard = edge.EdgeShard.load(str(shard_folder))
    offset: Any = None
    while True:
        request = edge.ScrollRequest(offset=offset, limit=_PAGE, with_payload=True, with_vector=with_vector)
        records, offset = shard.scroll(request)
        yield from records
        if offset is None:
            break
    shard.close()
