"""A scripted radref that consults, on real gRPC: responses laid down by the test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from radref.api.common.v1 import documents_pb2
from radref.api.gateway.v1 import answer_pb2, consult_pb2, gateway_pb2, gateway_pb2_grpc
from radref.api.ingest.v1 import ingest_pb2, ingest_pb2_grpc
from radref.errors import NotFound, RadrefError
from tests.evaluation.eval_fake_system import VERSIONS, refuse

# Two variants of one topic, one of another. "scan-b" is the second of two equally rated procedures.
KB = """
schema: appropriateness-kb/2
version: "7-synthetic"
topics:
  - id: knee
    title: Knee pain
    variants:
      - id: knee-acute
        title: Knee pain after a fall. Initial imaging.
        population: adult
        urgency: urgent
        criteria: {all: [knee pain, fall], none: [child], assume: [adult]}
        keywords: [knee, fall]
        narrative: A film first.
        procedures:
          - {id: scan-a, name: Scan of the knee A, rating: 8, rrl: low, comment: First.}
          - {id: scan-b, name: Scan of the knee B, rating: 8, rrl: none, comment: As good.}
      - id: knee-chronic
        title: Knee pain for months. Initial imaging.
        population: adult
        urgency: routine
        criteria: {all: [knee pain for months], assume: [adult]}
        keywords: [knee, months]
        narrative: No hurry.
        procedures:
          - {id: no-imaging, name: No imaging, rating: 9, rrl: none, comment: Wait.}
  - id: breast
    title: Breast lump
    variants:
      - id: breast-lump
        title: Palpable breast lump. Initial imaging.
        population: adult
        urgency: urgent
        criteria: {all: [breast lump], assume: [adult]}
        keywords: [lump]
        narrative: Ultrasound first.
        procedures:
          - {id: us, name: Ultrasound of the breast, rating: 9, rrl: none, comment: First.}
"""
TOPIC_OF = {"knee-acute": "Knee pain", "knee-chronic": "Knee pain", "breast-lump": "Breast lump"}
PROCEDURES_OF = {
    "knee-acute": (("Scan of the knee A", 8), ("Scan of the knee B", 8)),
    "knee-chronic": (("No imaging", 9),),
    "breast-lump": (("Ultrasound of the breast", 9),),
}
PASSAGES = {
    f"cite-{name}": "\n".join(f"| {procedure} | {rating} |" for procedure, rating in procedures)
    for name, procedures in PROCEDURES_OF.items()
}


def kb_file(folder: Path) -> Path:
    path = folder / "kb.yaml"
    path.write_text(KB, encoding="utf-8")
    return path


def set_file(folder: Path, *lines: str) -> Path:
    path = folder / "set.yaml"
    path.write_text("\n".join(["schema: appropriateness-eval/1", *lines]) + "\n", encoding="utf-8")
    return path


def variant(name: str) -> consult_pb2.ConsultVariant:
    return consult_pb2.ConsultVariant(
        id=name, topic=TOPIC_OF.get(name, "?"), title=name, citation_id=f"cite-{name}"
    )


def candidates(*scored: tuple[str, float]) -> list[consult_pb2.ConsultCandidate]:
    return [
        consult_pb2.ConsultCandidate(
            variant=variant(name), fit=consult_pb2.VARIANT_FIT_OPEN, reasons=["not said: age"], score=score
        )
        for name, score in scored
    ]


def answer(name: str, *, first: str = "", score: float = 3.0) -> consult_pb2.ConsultResponse:
    """A recommendation of `name`; `first` = the procedure that is listed first."""
    listed = sorted(PROCEDURES_OF[name], key=lambda procedure: procedure[0] != first)
    return consult_pb2.ConsultResponse(
        outcome=answer_pb2.OUTCOME_ANSWERED,
        decision=consult_pb2.CONSULT_DECISION_RECOMMENDED,
        variant=variant(name),
        procedures=[
            consult_pb2.ConsultProcedure(name=procedure, rating=rating, citation_ids=[f"cite-{name}"])
            for procedure, rating in listed
        ],
        candidates=candidates((name, score)),
    )


def abstention(
    decision: consult_pb2.ConsultDecision.ValueType = consult_pb2.CONSULT_DECISION_OPEN,
    *found: tuple[str, float],
) -> consult_pb2.ConsultResponse:
    return consult_pb2.ConsultResponse(
        outcome=answer_pb2.OUTCOME_ABSTAINED,
        decision=decision,
        abstention=answer_pb2.Abstention(message="Say more."),
        candidates=candidates(*found),
    )


@dataclass
class FakeConsult(gateway_pb2_grpc.GatewayServiceServicer):
    """`script`: query -> its responses, one a call and the last for ever; an error is raised.

    A query that no script names (the warm-up) is an abstention.
    """

    script: dict[str, Sequence[consult_pb2.ConsultResponse | RadrefError]]
    passages: dict[str, str | RadrefError] = field(default_factory=lambda: dict(PASSAGES))
    asked: list[str] = field(default_factory=list)
    looked_up: list[str] = field(default_factory=list)

    async def Consult(self, request, context):  # noqa: N802
        turn = self.asked.count(request.scenario)
        self.asked.append(request.scenario)
        responses = self.script.get(request.scenario, [abstention()])
        response = responses[min(turn, len(responses) - 1)]
        if isinstance(response, RadrefError):
            await refuse(context, response)
        response.versions.CopyFrom(VERSIONS)
        return response

    async def GetSource(self, request, context):  # noqa: N802
        self.looked_up.append(request.citation_id)
        text = self.passages.get(request.citation_id, NotFound("no such passage"))
        if isinstance(text, RadrefError):
            await refuse(context, text)
        return gateway_pb2.GetSourceResponse(passage=documents_pb2.Passage(text=text))


@dataclass
class FakeVariants(ingest_pb2_grpc.IngestServiceServicer):
    """Keeps variants. `failing`: variant id -> failure; `stored`: what is there before."""

    failing: dict[str, ingest_pb2.JobFailure] = field(default_factory=dict)
    stored: dict[str, int] = field(default_factory=dict)
    submitted: list[str] = field(default_factory=list)
    overloaded: list[RadrefError] = field(default_factory=list)

    async def SubmitVariant(self, request, context):  # noqa: N802
        if self.overloaded:
            await refuse(context, self.overloaded.pop())
        name = request.variant.id
        self.submitted.append(name)
        if name in self.stored:
            return ingest_pb2.SubmitVariantResponse(document_id=name, version=1)
        self.stored[name] = 0 if name in self.failing else 1
        return ingest_pb2.SubmitVariantResponse(document_id=name, version=1, job_id=f"job-{name}")

    async def WatchJob(self, request, context):  # noqa: N802
        name = request.job_id.removeprefix("job-")
        job = ingest_pb2.Job(id=request.job_id, document_id=name, stage=ingest_pb2.JOB_STAGE_DONE)
        if name in self.failing:
            job.stage = ingest_pb2.JOB_STAGE_FAILED
            job.failure.CopyFrom(self.failing[name])
        yield ingest_pb2.WatchJobResponse(job=job)

    async def ListDocuments(self, request, context):  # noqa: N802
        return ingest_pb2.ListDocumentsResponse(
            documents=[
                ingest_pb2.DocumentSummary(document_id=name, active_version=active)
                for name, active in self.stored.items()
            ]
        )


@asynccontextmanager
async def consulting(gateway: FakeConsult, ingest: FakeVariants | None = None) -> AsyncIterator[str]:
    """Serves both on one free port; yields host:port."""
    server = grpc.aio.server()
    gateway_pb2_grpc.add_GatewayServiceServicer_to_server(gateway, server)
    if ingest is not None:
        ingest_pb2_grpc.add_IngestServiceServicer_to_server(ingest, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)
