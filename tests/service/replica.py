"""A radref service with next to nothing in it, run as every service is: says who it is, after `hold` seconds.

Started by tests as `python -m tests.service.replica` with RADREF_INFERENCE_* settings.
"""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path

from radref.api.inference.v1 import inference_pb2, inference_pb2_grpc
from radref.errors import Unavailable
from radref.service.health import Component
from radref.service.runtime import App, Servicer, run_service
from radref.service.settings import ServiceSettings


class ReplicaSettings(ServiceSettings, section="inference"):
    """`answers`: False = every call says that a backend is down; `ready`: False = it never gets ready;
    `ready_file`: it gets ready once this file is there.
    """

    name: str = ""
    hold: float = 0.0
    answers: bool = True
    ready: bool = True
    ready_file: Path | None = None


class Replica(inference_pb2_grpc.InferenceServiceServicer):
    def __init__(self, settings: ReplicaSettings) -> None:
        self.settings = settings
        self.calls = 0

    async def Describe(self, request, context):  # noqa: N802
        self.calls += 1
        if not self.settings.answers:
            raise Unavailable(f"call {self.calls}")
        await asyncio.sleep(self.settings.hold)
        models = [inference_pb2.ModelDescription(id=self.settings.name, backend=str(os.getpid()))]
        return inference_pb2.DescribeResponse(models=models)

    async def Generate(self, request, context):  # noqa: N802
        await asyncio.sleep(self.settings.hold)
        yield inference_pb2.GenerateResponse(delta=self.settings.name)


async def compose(settings: ReplicaSettings) -> App:
    add = inference_pb2_grpc.add_InferenceServiceServicer_to_server
    name = inference_pb2.DESCRIPTOR.services_by_name["InferenceService"].full_name
    components = [] if settings.ready else [Component("never", never)]
    if settings.ready_file is not None:
        components.append(Component("file", partial(asyncio.to_thread, present, settings.ready_file)))
    return App(services=[Servicer(add, Replica(settings), name)], components=components)


async def never() -> None:
    raise Unavailable("not today")


def present(file: Path) -> None:
    if not file.exists():
        raise Unavailable("not yet")


if __name__ == "__main__":
    run_service("inference", ReplicaSettings, compose)
