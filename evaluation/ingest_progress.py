"""Ingestion with a progress bar and a list of what was refused."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from evaluation.ingest_corpus import Submission, UploadResult, ingest
from evaluation.progress import progress_on
from radref.client import RadrefClient
from radref.errors import PreconditionFailed

_SHOWN = 20


async def ingest_with_progress(
    client: RadrefClient, uploads: Sequence[Submission], *, window: int, console: Console
) -> list[UploadResult]:
    """`ingest`, shown to people; refused documents are named, since no question on them can be answered.

    Raises:
        PreconditionFailed: every document was refused; there is nothing to measure.
        RadrefError: as `ingest`.
    """
    with progress_on(console) as progress:
        bar = progress.add_task("Indexing", total=len(uploads))
        results = await ingest(client, uploads, window=window, on_result=lambda _: progress.advance(bar))
    refused = [result for result in results if result.status == "refused"]
    for result in refused[:_SHOWN]:
        console.print(f"refused: {result.document_id}: {result.reason}", markup=False, highlight=False)
    if len(refused) > _SHOWN:
        console.print(f"... and {len(refused) - _SHOWN} more")
    if results and len(refused) == len(results):
        raise PreconditionFailed("Every document was refused; there is nothing to measure")
    return results
