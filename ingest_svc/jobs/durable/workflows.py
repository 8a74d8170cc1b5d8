"""Runs of jobs as DBOS workflows on the registry's database.

DBOS is a singleton of the process with threads of its own. It is started and stopped here; the workflows run
on the event loop that calls `start`. The registry stays the truth about jobs: what DBOS loses is run again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Engine
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError

from ingest_svc.jobs.durable.engines import open_engine
from ingest_svc.jobs.durable.log_bridge import bridge_logs
from ingest_svc.jobs.durable.run_ids import WORKFLOW_VERSION, job_id_of, workflow_id
from ingest_svc.registry.jobs import QueuedRun
from radref.errors import Unavailable

if TYPE_CHECKING:
    from dbos import DBOSClient

APPLICATION = "radref"
QUEUE = "radref-jobs"
WORKFLOW = "radref-job"
_SCHEMA = "dbos"
# How often the queue is looked at; a look is three short queries.
_POLL_SECONDS = 0.25
# DBOS looks for messages between workflows, which there are none of, and stops only between two looks.
_LISTEN_SECONDS = 0.1
_SWEPT_AT_ONCE = 500

_PENDING = "PENDING"
_ACTIVE = ("ENQUEUED", "DELAYED", _PENDING)

T = TypeVar("T")
# Runs a job's run to its end; what it returns is kept as the workflow's result.
Execute = Callable[[str, int], Awaitable[str]]
StepResult = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ActiveRun:
    """A run that DBOS will bring to its end, or is at.

    Attributes:
        workflow: its id.
        executor: worker that has it; meaningless while it is queued.
        queued: nobody has it.
        same_version: of this version of the workflow.
    """

    workflow: str
    job_id: str
    executor: str
    queued: bool
    same_version: bool


def make_tables(url: URL) -> ModuleType:
    """Makes the tables of DBOS, or brings them up to date. Returns the package: it is imported here only."""
    bridge_logs()
    # Half a second: on a thread, while the service listens already.
    import dbos

    dbos.DBOS.migrate(url.render_as_string(hide_password=False), schema=_SCHEMA)
    return dbos


class Workflows:
    """The queue of runs, and the record of their steps."""

    def __init__(self, *, url: URL, worker: str, places: int) -> None:
        """Opens nothing yet.

        Args:
            url: of the registry's database.
            worker: name of this worker, 1-64 characters, the same after a restart.
            places: runs that this worker takes from the queue at once, >= 1.
        """
        self._url = url
        self._worker = worker
        self._places = places
        self._engine: Engine | None = None
        self._client: DBOSClient | None = None
        self._dbos: ModuleType | None = None
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="durable-jobs")

    async def start(self, execute: Execute) -> None:
        """Starts to work; runs that this worker was at under an earlier life go on.

        Raises:
            Unavailable: BACKEND_UNAVAILABLE, the database does not answer.
        """
        dbos, self._engine = await self._on_thread(self._prepare)
        self._dbos = dbos

        async def radref_job(job_id: str, run: int) -> str:
            return await execute(job_id, run)

        # How often a run may die is counted by the registry.
        dbos.DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)(radref_job)
        dbos.DBOS(
            config={
                "name": APPLICATION,
                "system_database_url": self._url.render_as_string(hide_password=False),
                "system_database_engine": self._engine,
                "dbos_system_schema": _SCHEMA,
                "application_version": WORKFLOW_VERSION,
                "executor_id": self._worker,
                "run_migrations": False,
                "enable_otlp": False,
                "log_level": "WARNING",
                # JSON: what is read back from a database must not be able to run code.
                "serializer": dbos.DBOSPortableJSONSerializer(),
                "max_executor_threads": 2 * self._places + 16,
                "notification_listener_polling_interval_sec": _LISTEN_SECONDS,
            }
        )
        # On the loop's own thread: that is how DBOS knows which loop runs the workflows. It asks the database
        # a handful of questions.
        dbos.DBOS.launch()

    async def stop(self) -> None:
        """Stops taking runs. Those not ended stay in the database for the next life, or another worker."""
        try:
            if self._dbos is not None:
                await self._on_thread(self._destroy)
                # DBOS had put its own threads behind asyncio.to_thread, and they are gone.
                asyncio.get_running_loop().set_default_executor(
                    ThreadPoolExecutor(thread_name_prefix="asyncio")
                )
        finally:
            self._threads.shutdown(wait=False)
            if self._engine is not None:
                self._engine.dispose()

    async def step(self, name: str, work: Callable[[], Awaitable[StepResult]]) -> StepResult:
        """The result of a step of the run that calls; after a crash the recorded one, without working again.

        Args:
            work: returns JSON values; must not raise, as foreign exceptions may quote a document.
        """
        dbos = self._started()

        async def step() -> StepResult:
            return await work()

        result: StepResult = await dbos.DBOS.run_step_async({"name": name}, step)
        return result

    async def enqueue(self, run: QueuedRun) -> None:
        """Queues a run. Once queued, or even ended, queuing it again does nothing.

        Raises:
            Unavailable: BACKEND_UNAVAILABLE.
        """
        options = {
            "workflow_name": WORKFLOW,
            "queue_name": QUEUE,
            "workflow_id": workflow_id(run),
            "app_version": WORKFLOW_VERSION,
        }
        await self._ask(lambda client: client.enqueue(options, run.job_id, run.run))  # type: ignore[arg-type]

    async def active(self) -> list[ActiveRun]:
        """Every run that has not ended, of all workers. Raises Unavailable."""
        found = await self._ask(
            lambda client: client.list_workflows(
                status=list(_ACTIVE), name=WORKFLOW, load_input=False, load_output=False
            )
        )
        return [
            ActiveRun(
                workflow=status.workflow_id,
                job_id=job_id_of(status.workflow_id),
                executor=status.executor_id or "",
                queued=status.status != _PENDING,
                same_version=status.app_version == WORKFLOW_VERSION,
            )
            for status in found
        ]

    async def ended(self, runs: Sequence[QueuedRun]) -> list[QueuedRun]:
        """Those of the runs that DBOS has brought to an end, whichever. Raises Unavailable."""
        if not runs:
            return []
        by_id = {workflow_id(run): run for run in runs}
        found = await self._ask(
            lambda client: client.list_workflows(
                workflow_ids=list(by_id), load_input=False, load_output=False
            )
        )
        return [by_id[status.workflow_id] for status in found if status.status not in _ACTIVE]

    async def recover(self, workers: Collection[str]) -> None:
        """Queues again what these workers were at and will not end.

        Several may do so at once: a run leaves its dead worker once, and is taken up by one worker.

        Raises:
            Unavailable: BACKEND_UNAVAILABLE.
        """
        dbos = self._started()
        # The public way, resume_workflow, would take a run away from a worker that has taken it up meanwhile.
        await self._translated(lambda: dbos.DBOS._recover_pending_workflows(sorted(workers)))

    async def resume(self, runs: Collection[ActiveRun]) -> None:
        """Queues again runs that are this worker's without its knowing. Raises Unavailable."""
        ids = [run.workflow for run in runs]
        await self._ask(lambda client: client.resume_workflows(ids, queue_name=QUEUE))

    async def forget(self, older_than: timedelta) -> int:
        """Deletes ended runs, and those of other versions that nobody will end, up to 500. Returns how many.

        Raises:
            Unavailable: BACKEND_UNAVAILABLE.
        """
        before = (datetime.now(UTC) - older_than).isoformat()
        found = await self._ask(
            lambda client: client.list_workflows(
                name=WORKFLOW, end_time=before, limit=_SWEPT_AT_ONCE, load_input=False, load_output=False
            )
        )
        gone = [
            status.workflow_id
            for status in found
            if status.status not in _ACTIVE or status.app_version != WORKFLOW_VERSION
        ]
        if gone:
            await self._ask(lambda client: client.delete_workflows(gone))
        return len(gone)

    def _prepare(self) -> tuple[ModuleType, Engine]:
        dbos = make_tables(self._url)
        engine = open_engine(self._url)
        self._client = dbos.DBOSClient(
            system_database_engine=engine,
            dbos_system_schema=_SCHEMA,
            serializer=dbos.DBOSPortableJSONSerializer(),
            application_name=APPLICATION,
            # An answer, if only that the database is away: who asks has something better to do than to wait.
            retry_connection_errors=False,
        )
        # Before DBOS starts: it looks for new queues once a second only.
        self._client.register_queue(
            QUEUE, worker_concurrency=self._places, polling_interval_sec=_POLL_SECONDS
        )
        return dbos, engine

    def _destroy(self) -> None:
        dbos = self._started()
        dbos.DBOS.destroy(destroy_registry=True)
        if self._client is not None:
            self._client.destroy()
            self._client = None
        self._dbos = None

    def _started(self) -> ModuleType:
        if self._dbos is None:
            raise Unavailable("The job queue is not running.", reason="NOT_READY")
        return self._dbos

    async def _ask(self, work: Callable[[DBOSClient], T]) -> T:
        client = self._client
        if client is None:
            raise Unavailable("The job queue is not running.", reason="NOT_READY")
        return await self._translated(lambda: work(client))

    async def _translated(self, work: Callable[[], T]) -> T:
        try:
            return await self._on_thread(work)
        except SQLAlchemyError as exc:
            cause = type(exc).__name__
        # Outside of the handler: the database's own message must not come along.
        raise Unavailable("The job queue's database does not answer.", metadata={"cause": cause})

    async def _on_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)
