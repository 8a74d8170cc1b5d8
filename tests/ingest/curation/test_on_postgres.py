"""A document's whole life on PostgreSQL: what the curators' side asks there must be understood."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from ingest_svc.queries import diff_versions, get_passage, list_documents
from ingest_svc.registry import watched_files
from ingest_svc.registry.database import Database
from ingest_svc.registry.watched_files import WatchedFile
from radref.errors import InvalidInput, PreconditionFailed
from radref.validity import Validity
from tests.ingest.curation.desk import Desk, passage_of

DAY = datetime(2026, 1, 1, tzinfo=UTC)


async def test_a_life_on_postgresql(postgres_url: str, tmp_path: Path):
    database, other = Database(postgres_url), Database(postgres_url)
    try:
        desk, elsewhere = Desk(database, tmp_path), Desk(other, tmp_path)
        # The same bytes at the same moment through two processes' eyes.
        answers = await asyncio.gather(
            *(part.submit("one", name) for name in ("law", "copy", "x") for part in (desk, elsewhere))
        )
        first = {answer.document_id for answer in answers}
        assert len(first) == 1
        assert sum(not answer.duplicate for answer in answers) == 1
        law = first.pop()
        await desk.through(law, 1)
        await desk.replace(law, "two")
        await desk.through(law, 2)
        await elsewhere.roll_back(law, 1)
        await desk.indexed(law, 1, cut="other rules")
        with pytest.raises(PreconditionFailed):
            await desk.roll_back(law, 1)
        await desk.live("three", "newer", supersedes=(law,))
        with pytest.raises(InvalidInput):
            await desk.replace(law, "four", supersedes=("newer",))
        source = await get_passage(database, passage_of(law, 1).citation_id)
        assert (source.standing.validity, source.standing.superseded_by) == (Validity.SUPERSEDED, "newer")
        assert await diff_versions(database, law, 1, 2) == []

        def note(session: Session) -> None:
            for location, gone in (("/a", DAY), ("/b", DAY)):
                watched_files.put_watched(
                    session, WatchedFile(location, "s", law, "0" * 64, "", "", DAY, DAY, gone, "")
                )

        await database.write(note)
        page = await list_documents(
            database, states=(), topics=(), known_topics=(), asked_size=0, page_token=""
        )
        seen = {view.version.document_id: view for view in page.documents}
        assert (seen[law].vanished_at, seen["newer"].vanished_at) == (DAY, None)
        assert [review.reviewer for review in seen["newer"].reviews] == ["rita"]
        await desk.withdraw(law)
        again = await desk.submit("one")
        assert (again.document_id, again.version) == (law, 3)
    finally:
        database.close()
        other.close()
