"""Parses a file without keeping it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from ingest_svc.blobs.ports import Blobs
from ingest_svc.jobs.ports import Cleaner, Parser
from ingest_svc.registry.records import ParsedContent
from ingest_svc.uploads.header import UploadLimits, check_file
from ingest_svc.uploads.receive import UploadPart, receive_bytes, receive_header


async def preview(
    parts: AsyncIterator[UploadPart],
    *,
    blobs: Blobs,
    parser: Parser,
    clean: Cleaner,
    limits: UploadLimits,
) -> ParsedContent:
    """What submitting the same upload would store.

    Raises:
        RadrefError: the upload is not acceptable, or the file cannot be read.
    """
    header = await receive_header(parts, lambda announced: check_file(announced, limits))
    async with blobs.new_blob() as blob:
        await receive_bytes(parts, header.size_bytes, blob)
        data = await blob.content()
    parsed = await parser.parse(data, header.file_name)
    cleaned = await asyncio.to_thread(clean, parsed)
    return ParsedContent(cleaned.blocks, cleaned.title, cleaned.report)
