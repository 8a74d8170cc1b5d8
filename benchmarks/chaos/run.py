"""The faults one after the other, under one load."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.chaos.answers import judge
from benchmarks.chaos.faults import Fault, inject
from benchmarks.chaos.figures import seen
from benchmarks.chaos.traffic import Asked, traffic
from benchmarks.live.system import client_of, sample_questions
from evaluation.bootstrap import quantile
from radref.api.gateway.v1 import gateway_pb2
from radref.cli.stack import Stack

# Before the first fault and after each; recovery that takes longer is not seen, and is said to be longer.
SETTLE_SECONDS = 15.0


async def run_faults(stack: Stack, faults: Sequence[Fault], say: Callable[[str], None]) -> dict[str, Any]:
    """Does the faults and tells what callers saw; `faults` at least one, `say` is told what begins.

    Raises:
        RadrefError: the system does not answer without a fault, or not again after all of them.
        RuntimeError: without a fault nothing is cited, or calls failed.
    """
    async with client_of(stack) as client:
        say("answers without a fault")
        undisturbed = {question: await client.generate(question) for question in sample_questions()}
        asked = Asked(list(undisturbed), _citation_ids(undisturbed))
        outages = []
        async with traffic(client, asked) as calls:
            await asyncio.sleep(SETTLE_SECONDS)
            for fault in faults:
                say(f"{fault.service} {fault.kind}")
                outages.append(await inject(stack, fault))
                await asyncio.sleep(SETTLE_SECONDS)
        quiet = [call for call in calls if call.ended < outages[0].began]
        if failed := sorted({call.reason for call in quiet if call.code != "OK"}):
            raise RuntimeError(f"calls failed before the first fault: {', '.join(failed)}")
        ends = [*(outage.began for outage in outages[1:]), math.inf]
        rows = []
        for fault, outage, end in zip(faults, outages, ends, strict=True):
            answers = [
                call.answer for call in calls if call.answer is not None and outage.began < call.ended <= end
            ]
            rows.append(
                {
                    **asdict(fault),
                    "out_seconds": outage.back - outage.began,
                    "seen": {kind: asdict(of) for kind, of in seen(calls, outage, end).items()},
                    "answers": asdict(await judge(client, answers, undisturbed)),
                }
            )
    kinds = sorted({call.kind for call in quiet})
    return {
        "undisturbed_ms": {
            kind: quantile([call.milliseconds for call in quiet if call.kind == kind], 0.5) for kind in kinds
        },
        "faults": rows,
    }


def _citation_ids(answers: Mapping[str, gateway_pb2.GenerateResponse]) -> list[str]:
    ids = {
        citation.citation_id
        for answer in answers.values()
        for statement in answer.statements
        for citation in statement.citations
    }
    if not ids:
        raise RuntimeError("without a fault nothing is cited")
    return sorted(ids)
