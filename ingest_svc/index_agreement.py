"""Makes the index search what the registry says, where the two may have parted."""

from __future__ import annotations

import asyncio

import structlog

from ingest_svc.jobs.document_locks import DocumentLocks
from ingest_svc.jobs.ports import Index
from ingest_svc.registry import documents
from ingest_svc.registry.database import Database
from radref.errors import NotFound, RadrefError, Unavailable

SWEEP_SECONDS = 10.0

log = structlog.get_logger()


async def agree(database: Database, index: Index, document_id: str) -> int:
    """Makes the index search a document's active version, or nothing of it. The caller holds its lock.

    Returns:
        The version that the index searched before; 0 = none.

    Raises:
        NotFound: UNKNOWN_DOCUMENT or UNKNOWN_VERSION, the index no longer holds the active version.
        Unavailable: the index or the registry does not answer. The document stays marked.
    """
    document = await database.read(lambda session: documents.find_document(session, document_id))
    if document is None:
        return 0
    active = document.active_version
    if active:
        previous = await index.activate(document_id, active)
    else:
        try:
            previous = await index.withdraw(document_id)
        except NotFound:
            # It never came that far.
            previous = 0
    await database.write(lambda session: documents.set_index_cleanup(session, document_id, False))
    return previous


class IndexAgreement:
    """Looks after the documents that are marked as doubtful: a withdrawal or a failed switch marks them."""

    def __init__(self, *, database: Database, index: Index, locks: DocumentLocks) -> None:
        self._database = database
        self._index = index
        self._locks = locks

    async def settle(self) -> int:
        """Asks the index once for every marked document. Returns for how many it agreed.

        A document that the index refuses stays marked and does not keep the others waiting.

        Raises:
            Unavailable: the index or the registry does not answer.
        """
        agreed = 0
        for document_id in await self._database.read(documents.list_index_cleanup):
            async with self._locks.of(document_id):
                if not await self._is_marked(document_id):
                    continue
                try:
                    await agree(self._database, self._index, document_id)
                except Unavailable:
                    raise
                except RadrefError as exc:
                    log.error(
                        "index does not search the active version", document_id=document_id, reason=exc.reason
                    )
                    continue
            agreed += 1
            log.info("index agrees with the registry", document_id=document_id)
        return agreed

    async def keep_settling(self) -> None:
        """Settles every ten seconds until cancelled."""
        while True:
            try:
                await self.settle()
            except RadrefError as exc:
                log.warning("documents wait for the index", reason=exc.reason)
            await asyncio.sleep(SWEEP_SECONDS)

    async def _is_marked(self, document_id: str) -> bool:
        return await self._database.read(lambda session: documents.needs_index_cleanup(session, document_id))
