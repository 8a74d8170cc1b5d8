"""Carries a plan out: sends variants, follows their jobs, withdraws; every step gets its result."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from radref.api.ingest.v1 import ingest_pb2
from radref.appropriateness.messages import variant_to_proto
from radref.appropriateness.model import Variant
from radref.cli.jobs import WATCH_SECONDS
from radref.cli.names import failure_text
from radref.cli.upload_one import unhurried
from radref.cli.uploading import IN_FLIGHT
from radref.cli.variant_plan import Change, Step
from radref.errors import RadrefError
from radref.knowledge_base import KnowledgeBase


async def send_all(kb: KnowledgeBase, steps: Sequence[Step]) -> AsyncIterator[Step]:
    """Sends new and changed variants, a few at a time; yields each with what became of it, as they end."""
    places = asyncio.Semaphore(IN_FLIGHT)

    async def one(step: Step) -> Step:
        async with places:
            return await _send(kb, step)

    tasks = [asyncio.create_task(one(step)) for step in steps]
    try:
        for ended in asyncio.as_completed(tasks):
            yield await ended
    finally:
        for task in tasks:
            task.cancel()


async def withdraw(kb: KnowledgeBase, step: Step, reason: str) -> Step:
    """Takes a document out of retrieval."""
    try:
        await unhurried(lambda: kb.withdraw_document(step.document_id, reason))
    except RadrefError as exc:
        return _failed(step, exc)
    return replace(step, change=Change.WITHDRAWN)


async def _send(kb: KnowledgeBase, step: Step) -> Step:
    if step.variant is None:
        raise ValueError("a step without a variant sends nothing")
    try:
        job = await _indexed(kb, step.variant)
    except RadrefError as exc:
        return _failed(step, exc)
    if job is None:
        return replace(step, change=Change.UNCHANGED, note="it is there already")
    if job.stage == ingest_pb2.JOB_STAGE_DONE:
        return step
    if job.stage == ingest_pb2.JOB_STAGE_AWAIT_REVIEW:
        return replace(step, waits=True)
    said = failure_text(job.failure) if job.HasField("failure") else "the ingest service stopped reporting"
    return replace(step, change=Change.FAILED, note=f"{said} To try again: radref kb retry {job.id}")


async def _indexed(kb: KnowledgeBase, variant: Variant) -> ingest_pb2.Job | None:
    """The job's last state; None where nothing had to be done."""
    response = await unhurried(lambda: kb.submit_variant(variant_to_proto(variant)))
    if not response.job_id:
        return None
    last = ingest_pb2.Job(id=response.job_id)
    async for job in kb.watch_job(response.job_id, timeout=WATCH_SECONDS):
        last = job
    return last


def _failed(step: Step, error: RadrefError) -> Step:
    return replace(step, change=Change.FAILED, note=f"{error.reason}: {error.message}")
