"""Takes an upload off its stream: header first, then exactly the announced bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from ingest_svc.blobs.ports import BlobWriter
from ingest_svc.uploads.header import MAX_CHUNK_BYTES, UploadHeader
from radref.errors import InvalidInput, RadrefError

# What a stream yields: the header, bytes, or None for a message that holds neither.
UploadPart = UploadHeader | bytes | None


async def receive_header(
    parts: AsyncIterator[UploadPart], check: Callable[[UploadHeader], UploadHeader]
) -> UploadHeader:
    """The header, checked before the first byte is read.

    Raises:
        InvalidInput: STREAM_PROTOCOL when something else comes first, or what `check` raises.
    """
    first = await anext(parts, None)
    if not isinstance(first, UploadHeader):
        raise _protocol_error("The first message of an upload must be its header.")
    return check(first)


async def receive_bytes(parts: AsyncIterator[UploadPart], size_bytes: int, blob: BlobWriter) -> None:
    """Writes the announced bytes to `blob`.

    Args:
        size_bytes: as announced by the header; not a byte more is taken.

    Raises:
        InvalidInput: STREAM_PROTOCOL when the stream breaks the announced order or size.
    """
    async for part in parts:
        if not isinstance(part, bytes):
            raise _protocol_error("After the header, every message of an upload must hold bytes.")
        if not 0 < len(part) <= MAX_CHUNK_BYTES:
            raise _protocol_error(f"A message of an upload holds 1-{MAX_CHUNK_BYTES} bytes.")
        if blob.size + len(part) > size_bytes:
            raise _protocol_error(f"The header announced {size_bytes} bytes; more arrived.")
        await blob.write(part)
    if blob.size != size_bytes:
        raise _protocol_error(f"The header announced {size_bytes} bytes; {blob.size} arrived.")


def _protocol_error(message: str) -> RadrefError:
    return InvalidInput(message, reason="STREAM_PROTOCOL")
