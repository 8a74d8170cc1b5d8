"""The life of a service process: compose, listen, become ready, serve, drain, stop."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import grpc
import structlog
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from prometheus_client import disable_created_metrics

from radref.service.admin import AdminServer
from radref.service.channelz import serve_channelz
from radref.service.exported_metrics import exported_by
from radref.service.exposure import check_exposure, warn_of_open_doors
from radref.service.guard import Guard, guard_of
from radref.service.health import Component, Readiness
from radref.service.health_service import HealthService
from radref.service.interceptors import guarded
from radref.service.logs import configure_logging
from radref.service.loop_lag import LoopLag
from radref.service.metrics import EVENT_LOOP_LAG
from radref.service.server_options import server_options
from radref.service.settings import ServiceSettings, SettingsError, UserFacingSettings
from radref.service.tls.server_ports import ServerPorts
from radref.service.tracing.export import start_export

HEARTBEAT_SECONDS = 0.5

S = TypeVar("S", bound=ServiceSettings)
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Servicer:
    """A gRPC service to register.

    Attributes:
        add: the generated add_...Servicer_to_server function.
        servicer: the object with its methods.
        name: full service name, e.g. "radref.api.gateway.v1.GatewayService".
    """

    add: Callable[[Any, grpc.aio.Server], None]
    servicer: object
    name: str


@dataclass(frozen=True, slots=True)
class App:
    """What a server.py composes.

    Attributes:
        services: gRPC services to register.
        components: SERVING only after each has answered once.
        workers: coroutines that run from start to shutdown; one that ends early ends the process.
        drainers: doors beside gRPC: each is told the grace in seconds when calls are refused, takes no new
            ones from then on and returns when none is in flight.
        closers: called in order at shutdown, after the last call was served.
        guard: what stands before every call (`guard_of`). A composition root with a second facade (REST)
            builds it and hands the same one to both. User-facing services must give it: it holds their
            access rules. None = one without access control.
        long_lived: full names of methods that stream for minutes ("/package.Service/Method"); ignored
            where `guard` is given, which has its own.
    """

    services: Sequence[Servicer]
    components: Sequence[Component] = ()
    workers: Sequence[Callable[[], Awaitable[None]]] = ()
    drainers: Sequence[Callable[[float], Awaitable[None]]] = ()
    closers: Sequence[Callable[[], Awaitable[None]]] = ()
    guard: Guard | None = None
    long_lived: frozenset[str] = frozenset()


def run_service(name: str, settings_type: type[S], compose: Callable[[S], Awaitable[App]]) -> None:
    """Runs a service until SIGTERM or SIGINT. Exits 2 on unusable settings, 1 when composing fails."""
    parser = argparse.ArgumentParser(prog=name, description=f"radref {name} service")
    parser.add_argument("--config", type=Path, help="settings file (YAML); default: RADREF_CONFIG")
    parser.add_argument("--listen", help="host:port of the gRPC server")
    parser.add_argument("--admin-listen", help="host:port of metrics and health over HTTP")
    parser.add_argument("--parent-pid", type=int, help="stop when this process is gone")
    arguments = parser.parse_args()
    try:
        settings = settings_type.load(
            arguments.config, listen=arguments.listen, admin_listen=arguments.admin_listen
        )
        check_exposure(settings)
    except SettingsError as exc:
        sys.exit(_refuse(str(exc)))
    configure_logging(name, settings.log_level)
    # Each would double the series of a counter and tell nothing that Prometheus uses.
    disable_created_metrics()  # type: ignore[no-untyped-call]
    sys.exit(asyncio.run(_serve(settings, compose, arguments.parent_pid)))


def _refuse(message: str) -> int:
    print(f"settings cannot be used:\n{message}", file=sys.stderr)
    return 2


async def _serve(settings: S, compose: Callable[[S], Awaitable[App]], parent_pid: int | None) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        stop_traces = start_export(settings.tracing, settings.section)
        app = await compose(settings)
    except Exception as exc:
        # The operator reads this line first: a message before the traceback.
        log.error("cannot start", error=type(exc).__name__, reason=str(exc))
        raise

    guard = app.guard
    if guard is None:
        if isinstance(settings, UserFacingSettings):
            raise TypeError("a user-facing service must compose its guard with its access rules")
        guard = guard_of(settings, long_lived=app.long_lived)
    ports = ServerPorts.of(settings)
    server = grpc.aio.server(
        interceptors=guarded(guard, ports.peers),
        options=server_options(settings),
    )
    for service in app.services:
        service.add(service.servicer, server)
    names = [service.name for service in app.services]
    health_service = HealthService()
    health_pb2_grpc.add_HealthServicer_to_server(health_service, server)
    reflection.enable_server_reflection((*names, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
    readiness = Readiness(health_service, names, app.components)
    readiness.start()

    ports.open(server, settings)
    warn_of_open_doors(settings)
    admin = AdminServer(
        settings.admin_address,
        lambda: (readiness.serving, readiness.waiting_for),
        exported_by(settings.section),
    )
    channelz = await serve_channelz(settings.channelz_listen) if settings.channelz_listen else None
    await server.start()
    log.info("listening", address=settings.listen_address, admin_port=admin.port)

    tasks = [
        asyncio.create_task(readiness.run(), name="readiness"),
        asyncio.create_task(_heartbeat(admin), name="heartbeat"),
        asyncio.create_task(ports.keep_certificates_fresh(), name="certificates"),
        *(asyncio.create_task(_as_coroutine(worker), name="worker") for worker in app.workers),
    ]
    if parent_pid is not None:
        tasks.append(asyncio.create_task(_watch_parent(parent_pid, stop), name="parent"))
    code = await _until_stopped(stop, tasks)

    readiness.drain()
    log.info("draining")
    if code == 0:
        await asyncio.sleep(settings.drain_wait_seconds)
    guard.draining.set()
    grace = settings.drain_grace_seconds
    await asyncio.gather(server.stop(grace), *(drain(grace) for drain in app.drainers))
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for close in app.closers:
        await close()
    if channelz is not None:
        await channelz.stop(0)
    await asyncio.to_thread(stop_traces)
    admin.close()
    log.info("stopped")
    return code


async def _until_stopped(stop: asyncio.Event, tasks: list[asyncio.Task[None]]) -> int:
    """Waits for the stop signal; a background task that dies also stops the process, with exit code 1."""
    stopping = asyncio.create_task(stop.wait())
    done, _ = await asyncio.wait({stopping, *tasks}, return_when=asyncio.FIRST_COMPLETED)
    if stopping in done:
        return 0
    stopping.cancel()
    code = 0
    for task in done:
        error = task.exception()
        if error is not None:
            code = 1
            log.error(
                "background task died", task=task.get_name(), error=type(error).__name__, exc_info=error
            )
        elif not stop.is_set():
            code = 1
            log.error("background task ended", task=task.get_name())
    return code


async def _as_coroutine(worker: Callable[[], Awaitable[None]]) -> None:
    await worker()


async def _heartbeat(admin: AdminServer) -> None:
    lag = LoopLag()
    EVENT_LOOP_LAG.set_function(lag.seconds)
    while True:
        lag.sleeping(HEARTBEAT_SECONDS)
        await asyncio.sleep(HEARTBEAT_SECONDS)
        lag.woke()
        admin.beat()


async def _watch_parent(parent_pid: int, stop: asyncio.Event) -> None:
    """A supervisor that was killed cannot stop its children: they notice by themselves."""
    with suppress(asyncio.CancelledError):
        while os.getppid() == parent_pid:
            await asyncio.sleep(HEARTBEAT_SECONDS)
        stop.set()
        await asyncio.Event().wait()
