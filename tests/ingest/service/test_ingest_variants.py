"""Appropriateness variants through the life of every document."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from ingest_svc.chunking.chunk import chunk_document
from ingest_svc.chunking.model import ChunkLimits
from ingest_svc.document import render as render_blocks
from ingest_svc.registry.database import Database
from ingest_svc.variants.reading import limits_of, read_variant
from radref.api.common.v1 import documents_pb2
from radref.api.ingest.v1 import ingest_pb2 as pb
from radref.appropriateness.kb_file import read_kb
from radref.appropriateness.messages import variant_to_proto
from radref.appropriateness.model import Criteria, Procedure, RadiationLevel, Variant
from radref.appropriateness.passage import parse, render
from radref.errors import InvalidInput, PreconditionFailed
from tests.appropriateness.variant_texts import a_variant
from tests.ingest.chunking.chunking_documents import token_map
from tests.ingest.service.ingest_client import Client, Upkeep, serving_ingest, submission
from tests.ingest.service.ingest_stack import Stack, running_stack

SAMPLE = Path(__file__).parents[3] / "samples" / "appropriateness" / "kb.yaml"
ID = "variant__knee-ottawa"


def changed() -> Variant:
    before = a_variant()
    first, second = before.procedures
    return replace(before, procedures=(replace(first, rating=8), second))


async def submitted(client: Client, variant: Variant, actor: str | None = None) -> pb.SubmitVariantResponse:
    request = pb.SubmitVariantRequest(variant=variant_to_proto(variant))
    response: pb.SubmitVariantResponse = await client.call("SubmitVariant", request, actor=actor)
    return response


async def indexed(client: Client, variant: Variant) -> pb.Job:
    response = await submitted(client, variant)
    job = (await client.watch(response.job_id))[-1]
    assert job.stage == pb.JOB_STAGE_DONE, job
    return job


async def newest(client: Client) -> pb.DocumentSummary:
    response = await client.call("GetDocument", pb.GetDocumentRequest(document_id=ID))
    document: pb.DocumentSummary = response.document
    return document


@pytest.fixture
async def reviewed(database: Database, tmp_path: Path, upkeep: Upkeep) -> AsyncIterator[Client]:
    async with (
        running_stack(database, tmp_path, auto_approve=False) as stack,
        serving_ingest(stack, upkeep) as client,
    ):
        yield client


async def test_a_variant_becomes_one_passage_that_reads_back(client: Client, stack: Stack) -> None:
    response = await submitted(client, a_variant(), actor="ann")
    assert (response.document_id, response.version) == (ID, 1)
    job = (await client.watch(response.job_id))[-1]
    assert (job.stage, job.parents) == (pb.JOB_STAGE_DONE, 1)

    header, parents, _ = stack.index.staged[ID, 1]
    assert [parent.text for parent in parents] == [render(a_variant())]
    assert parse(parents[0].text) == a_variant()
    assert header.metadata == documents_pb2.DocumentMetadata(
        title=a_variant().title,
        topic="consult",
        language="en",
        source_category="appropriateness-criteria",
        source="Appropriateness knowledge base 2026.1-synthetic",
    )
    document = await newest(client)
    assert (document.file_name, document.submitted_by, document.active_version) == (
        "knee-ottawa.md",
        "ann",
        1,
    )
    got = await client.call("GetPassage", pb.GetPassageRequest(citation_id=parents[0].citation_id))
    assert parse(got.passage.text) == a_variant()


async def test_the_same_variant_again_changes_nothing(client: Client) -> None:
    await indexed(client, a_variant())
    again = await submitted(client, a_variant())
    assert (again.document_id, again.version, again.job_id) == (ID, 1, "")
    assert len((await client.call("ListVersions", pb.ListVersionsRequest(document_id=ID))).versions) == 1


async def test_a_changed_variant_is_a_new_version(client: Client, stack: Stack) -> None:
    await indexed(client, a_variant())
    job = await indexed(client, changed())
    assert (job.document_id, job.version) == (ID, 2)
    assert stack.index.active == {ID: 2}
    (first,) = stack.index.staged[ID, 1][1]
    old = await client.call("GetPassage", pb.GetPassageRequest(citation_id=first.citation_id))
    assert old.state == documents_pb2.DOCUMENT_STATE_SUPERSEDED
    assert parse(old.passage.text) == a_variant()

    request = pb.DiffVersionsRequest(document_id=ID, from_version=1, to_version=2)
    (section,) = (await client.call("DiffVersions", request)).sections
    assert list(section.section_path) == [a_variant().title, "Procedures"]
    assert "| Radiography knee | 9 |" in section.before
    assert "| Radiography knee | 8 |" in section.after

    back = await client.call(
        "RollbackDocument", pb.RollbackDocumentRequest(document_id=ID, version=1, reason="a typo")
    )
    assert (await client.watch(back.job_id))[-1].stage == pb.JOB_STAGE_DONE
    assert stack.index.active == {ID: 1}
    assert (await indexed(client, changed())).version == 3


async def test_withdrawal_and_return(client: Client, stack: Stack) -> None:
    await indexed(client, a_variant())
    await client.call("WithdrawDocument", pb.WithdrawDocumentRequest(document_id=ID, reason="outdated"))
    assert stack.index.active == {}
    (parent,) = stack.index.staged[ID, 1][1]
    cited = await client.call("GetPassage", pb.GetPassageRequest(citation_id=parent.citation_id))
    assert cited.state == documents_pb2.DOCUMENT_STATE_WITHDRAWN
    assert parse(cited.passage.text) == a_variant()
    assert (await indexed(client, a_variant())).version == 2
    assert stack.index.active == {ID: 2}


async def test_review_comes_first(reviewed: Client) -> None:
    response = await submitted(reviewed, a_variant())
    assert (await reviewed.watch(response.job_id))[-1].stage == pb.JOB_STAGE_AWAIT_REVIEW
    again = await submitted(reviewed, a_variant())
    assert (again.version, again.job_id) == (1, ""), "it waits already"

    newer = await submitted(reviewed, changed())
    assert (await reviewed.watch(newer.job_id))[-1].stage == pb.JOB_STAGE_AWAIT_REVIEW
    got = await reviewed.call("GetDocument", pb.GetDocumentRequest(document_id=ID))
    assert got.markdown == render(changed())
    assert got.report.format == "appropriateness-variant"
    reject = pb.ReviewDocumentRequest(
        document_id=ID, version=2, decision=pb.REVIEW_DECISION_REJECT, comment="not ours"
    )
    await reviewed.call("ReviewDocument", reject)

    # The first text was overtaken before its review; now it is wanted again.
    third = await submitted(reviewed, a_variant())
    assert third.version == 3
    await reviewed.watch(third.job_id)
    approve = pb.ReviewDocumentRequest(document_id=ID, version=3, decision=pb.REVIEW_DECISION_APPROVE)
    approved = await reviewed.call("ReviewDocument", approve)
    assert (await reviewed.watch(approved.job_id))[-1].stage == pb.JOB_STAGE_DONE


async def test_a_long_variant_is_one_parent_of_several_children(client: Client, stack: Stack) -> None:
    long = a_variant(
        narrative="A fracture is looked for first. " * 150 + "The end.",
        criteria=Criteria(all=tuple(f"criterion {number}" for number in range(40))),
        procedures=tuple(
            Procedure(f"p{number}", f"Procedure {number}", 5, RadiationLevel.LOW) for number in range(60)
        ),
    )
    job = await indexed(client, long)
    assert job.parents == 1
    assert job.children > 5
    (parent,) = stack.index.staged[ID, 1][1]
    assert parse(parent.text) == long


async def test_the_sample_base(client: Client, stack: Stack) -> None:
    base = read_kb(SAMPLE)
    for variant in base.variants:
        await indexed(client, variant)
    found = [parse(parents[0].text) for _, parents, _ in stack.index.staged.values()]
    assert found == list(base.variants)


async def test_russian(client: Client) -> None:
    await indexed(client, a_variant(title="Острая травма колена. Первое исследование.", narrative=""))
    assert (await newest(client)).metadata.language == "ru"


async def test_a_bad_variant_is_refused(client: Client) -> None:
    with pytest.raises(InvalidInput) as refused:
        await submitted(client, a_variant(title=""))
    assert (refused.value.field, refused.value.reason) == ("variant.title", "EMPTY_TEXT")
    with pytest.raises(InvalidInput):
        await client.call("SubmitVariant", pb.SubmitVariantRequest())


async def test_no_other_upload_takes_the_place_of_a_variant(client: Client) -> None:
    await indexed(client, a_variant())
    with pytest.raises(InvalidInput, match="SubmitVariant"):
        await client.call("SubmitDocument", submission(b"# A", document_id=ID))
    with pytest.raises(InvalidInput, match="SubmitVariant"):
        await client.call("ReplaceDocument", submission(b"# A", pb.ReplaceDocumentRequest, document_id=ID))


async def test_a_document_with_the_same_text_is_named(client: Client) -> None:
    await client.indexed(render(a_variant()).encode(), document_id="copy")
    with pytest.raises(PreconditionFailed, match="is document copy") as refused:
        await submitted(client, a_variant())
    assert refused.value.metadata["document_id"] == "copy"


def test_what_fits_the_model_is_one_child() -> None:
    site = ChunkLimits(child_tokens=512, child_characters=300)
    text, placed = render_blocks(read_variant(render(a_variant()).encode(), "en").blocks)

    def children(limits: ChunkLimits) -> int:
        chunked = chunk_document(text, placed, token_map(text), limits, document_id=ID, version=1, overhead=4)
        assert [chunk.parent.text for chunk in chunked.chunks] == [text]
        return len(chunked.chunks[0].children)

    assert children(site) > 1
    assert children(limits_of(ID, site)) == 1
    assert limits_of("other", site) == site


def test_stored_bytes_are_checked() -> None:
    data = render(a_variant()).encode()
    parsed = read_variant(data, "en")
    assert render_blocks(parsed.blocks)[0].encode() == data
    for broken in (data.replace(b"| 9 |", b"| 99 |"), b"\xff" + data, b""):
        with pytest.raises(InvalidInput) as refused:
            read_variant(broken, "en")
        assert refused.value.reason == "CORRUPT_FILE"
