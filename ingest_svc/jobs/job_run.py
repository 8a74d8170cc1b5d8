"""One run of a job: which step follows which, and what becomes of a step that fails."""

from __future__ import annotations

import random
import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import structlog

from ingest_svc.jobs.backoff import Backoff
from ingest_svc.jobs.failures import defect, endless, failure_of, is_transient
from ingest_svc.jobs.journal import JobEnded, Journal
from ingest_svc.jobs.persistence import until_answered
from ingest_svc.jobs.pipeline import Attempt, Pipeline
from ingest_svc.jobs.ports import Reembedding
from ingest_svc.lifecycle import JobKind, JobStage
from ingest_svc.registry.records import Failure, Job
from radref.errors import Internal, RadrefError

StepResult = Mapping[str, Any]
Step = Callable[[str, Callable[[], Awaitable[StepResult]]], Awaitable[StepResult]]

# How a run ended whose job goes on with another one.
QUEUED_AGAIN = "queued again"
# What a step leaves when the run ends with it, or why it failed.
_END, _FAILURE = "end", "failure"

log = structlog.get_logger()


class JobRun:
    """A job in the hands of this worker, from its claim to its end, its review or its next attempt.

    Names and order of the steps are the workflow's shape (`durable.run_ids.WORKFLOW_VERSION`).
    """

    def __init__(
        self,
        job: Job,
        journal: Journal,
        *,
        step: Step,
        pipeline: Pipeline,
        reembedding: Reembedding | None,
        backoff: Backoff,
    ) -> None:
        """
        Args:
            step: runs a named step once, and knows its result after a crash.
            reembedding: what a job on the whole index does; None = there is no such thing here.
        """
        self._job = job
        self._journal = journal
        self._step = step
        self._attempt = Attempt(pipeline, journal)
        self._reembedding = reembedding
        self._backoff = backoff
        self._log = log.bind(job_id=job.id, document_id=job.document_id, version=job.version)

    async def run(self) -> str:
        """How the run ended, in a word for the record. Raises nothing of its own."""
        if self._job.fruitless_attempts > self._backoff.max_attempts:
            # Every attempt that ends in a living process is judged below: these did not.
            await self._fail(endless(self._job.fruitless_attempts - 1))
            self._log.error("job ended", failure="endless")
            return "failed"
        result = await self._steps()
        if _FAILURE in result:
            return await self._judge(result[_FAILURE])
        ended = str(result[_END])
        self._log.info(
            "job dropped: no longer ours" if ended == "dropped" else "job ended its run", end=ended
        )
        return ended

    async def _steps(self) -> StepResult:
        if self._job.kind is JobKind.REEMBED:
            return await self._guarded_step("reembed", self._reembed)
        attempt = self._attempt
        notes: dict[str, StepResult] = {}
        # What the version has behind it already is passed over inside of a step: which steps there are must
        # not depend on when one looks.
        steps: tuple[tuple[str, Callable[[], Awaitable[StepResult]]], ...] = (
            ("parse", attempt.parse),
            ("clean", attempt.clean),
            ("review", self._review),
            ("chunk", attempt.chunk),
            ("embed", attempt.embed),
            ("stage", lambda: attempt.stage(str(notes["embed"]["fingerprint"]))),
            ("check", attempt.check),
            ("activate", attempt.activate),
        )
        for name, work in steps:
            notes[name] = await self._guarded_step(name, work)
            if _END in notes[name] or _FAILURE in notes[name]:
                return notes[name]
        await self._prune(int(notes["activate"]["previous"]))
        return {_END: "indexed"}

    async def _review(self) -> StepResult:
        return {} if await self._attempt.review() else {_END: "awaits review"}

    async def _reembed(self) -> StepResult:
        if self._reembedding is None:
            raise Internal("This service cannot build the index anew.")
        async with self._journal.stage(JobStage.EMBED):
            await self._reembedding(self._journal.progress)
        await self._journal.reembedded()
        return {_END: "reembedded"}

    async def _prune(self, previous: int) -> None:
        try:
            await self._attempt.prune(previous)
        except RadrefError as exc:
            # The version is searched; what is left over goes with the next one.
            self._log.warning("old vectors not pruned", reason=exc.reason)

    async def _guarded_step(self, name: str, work: Callable[[], Awaitable[StepResult]]) -> StepResult:
        return await self._step(name, lambda: self._guarded(work))

    async def _guarded(self, work: Callable[[], Awaitable[StepResult]]) -> StepResult:
        """The step's result, or what its failure comes to: records take no exceptions."""
        try:
            return await work()
        except JobEnded:
            return {_END: "dropped"}
        except RadrefError as exc:
            return {_FAILURE: _described(exc)}
        except Exception as exc:  # noqa: BLE001 - one document's defect must not stop the others
            # Frames only: the text of a foreign exception may quote the document.
            self._log.error("defect", error=type(exc).__name__, frames=traceback.format_tb(exc.__traceback__))
            failure = defect(self._job.id)
            return {
                _FAILURE: {
                    "reason": failure.reason,
                    "message": failure.message,
                    "retryable": failure.retryable,
                    "transient": False,
                    "retry_after": None,
                    "origin": {},
                }
            }

    async def _judge(self, told: Mapping[str, Any]) -> str:
        failure = Failure(told["reason"], told["message"], told["retryable"])
        fruitless = await until_answered(self._journal.fruitless_attempts)
        if not told["transient"] or self._backoff.exhausted(fruitless):
            self._log.warning(
                "job failed", reason=failure.reason, attempts=self._job.attempts, **told["origin"]
            )
            await self._fail(failure)
            return "failed"
        delay = self._backoff.delay(fruitless, random.random(), told["retry_after"])
        self._log.info(
            "attempt failed, will try again",
            reason=failure.reason,
            seconds=round(delay, 2),
            **told["origin"],
        )
        await self._unless_ended(lambda: self._journal.requeued(delay, failure))
        return QUEUED_AGAIN

    async def _fail(self, failure: Failure) -> None:
        await self._unless_ended(lambda: self._journal.failed(failure))

    async def _unless_ended(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await until_answered(work)
        except JobEnded:
            self._log.info("job was ended by somebody else meanwhile")


def _described(error: RadrefError) -> dict[str, Any]:
    failure = failure_of(error)
    return {
        "reason": failure.reason,
        "message": failure.message,
        "retryable": failure.retryable,
        "transient": is_transient(error),
        "retry_after": error.retry_after,
        # Which neighbour failed, and its request id: the way to the neighbour's own log entry.
        "origin": {
            name: error.metadata[name] for name in ("backend", "request_id") if name in error.metadata
        },
    }
