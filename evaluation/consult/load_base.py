"""Puts the variants of a knowledge base into the system under measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console

from evaluation.ingest_corpus import Submitted, UploadResult
from evaluation.ingest_progress import ingest_with_progress
from radref.api.ingest.v1 import appropriateness_pb2
from radref.appropriateness.kb_file import KnowledgeBase
from radref.appropriateness.messages import variant_to_proto
from radref.client import RadrefClient
from radref.errors import PreconditionFailed

# The collection of variants, as the services name it.
TOPIC = "consult"
# Variants are short: more at a time would only wait for each other.
_WINDOW = 4


@dataclass(frozen=True, slots=True)
class VariantSubmission:
    """A variant to index."""

    message: appropriateness_pb2.AppropriatenessVariant

    @property
    def document_id(self) -> str:
        return self.message.id

    async def submit(self, client: RadrefClient) -> Submitted:
        """As `Submission`."""
        response = await client.kb.submit_variant(self.message)
        return Submitted(response.document_id, response.job_id)


async def load_base(client: RadrefClient, base: KnowledgeBase, console: Console) -> list[UploadResult]:
    """Submits every variant and waits until each is searchable.

    Raises:
        PreconditionFailed: a variant was refused; half a base would give figures that look like a system's.
        RadrefError: the service stays away.
    """
    submissions = [VariantSubmission(variant_to_proto(variant)) for variant in base.variants]
    results = await ingest_with_progress(client, submissions, window=_WINDOW, console=console)
    refused = [result for result in results if result.status == "refused"]
    if refused:
        raise PreconditionFailed(
            f"{len(refused)} of {len(results)} variants were refused; {refused[0].document_id}: "
            f"{refused[0].reason}"
        )
    return results


async def other_variants(client: RadrefClient, loaded: Sequence[UploadResult]) -> list[str]:
    """Document ids of searchable variants that are not of this base: answers may come from them, too."""
    own = {result.stored_id for result in loaded}
    return [
        document.document_id
        async for document in client.list_documents(topics=[TOPIC])
        if document.active_version and document.document_id not in own
    ]
