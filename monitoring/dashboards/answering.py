"""For whoever looks after the gateway: who asks how much, how fast, and what comes back."""

from __future__ import annotations

from monitoring.dashboards.board import Board, Panel, Query, Row, Unit
from monitoring.dashboards.processes import process_row
from monitoring.dashboards.queries import RPC, failing, job, percentiles, rate, selector, share
from monitoring.names import GATEWAY, GATEWAY_API

_API = f'service=~"{GATEWAY_API}"'
_STAGE = "radref_stage_duration_seconds"
_STRIPPED = 'result=~"unknown|misquoted"'

ANSWERING_BOARD = Board(
    "radref-answering",
    "Gateway: answering",
    "Who asks how much, how fast it is at which stage, and what comes back.",
    [
        Row(
            "Calls",
            [
                Panel(
                    "Calls by method",
                    "gRPC and REST together.",
                    Unit.CALLS_PER_SECOND,
                    [Query(rate(f"{RPC}_count", _API, by="method"), "{{method}}")],
                    stacked=True,
                ),
                Panel(
                    "Share that did not end OK, by method",
                    "Callers' mistakes included; the next panel says which. Nothing is shown where nothing "
                    "is asked.",
                    Unit.SHARE,
                    [Query(failing(_API), "{{method}}")],
                ),
                Panel(
                    "Calls that did not end OK",
                    "By method and status code.",
                    Unit.CALLS_PER_SECOND,
                    [
                        Query(
                            rate(f"{RPC}_count", _API, 'code!="OK"', by="method, code"), "{{method}} {{code}}"
                        )
                    ],
                    stacked=True,
                ),
                Panel(
                    "Time of a call, by method",
                    "Calls that ended OK. Objective for Generate and StreamGenerate: p95 at most 10 s.",
                    Unit.SECONDS,
                    percentiles(RPC, _API, 'code="OK"', by="method"),
                    limit=10,
                    exemplars=True,
                ),
                Panel(
                    "Calls by way in",
                    "gRPC service or REST.",
                    Unit.CALLS_PER_SECOND,
                    [Query(rate(f"{RPC}_count", _API, by="service"), "{{service}}")],
                    stacked=True,
                ),
            ],
        ),
        Row(
            "Where the time of an answer goes",
            [
                Panel(
                    "Time to the first statement",
                    "From the question to its first checked statement: what a reader waits. Objective: p95 "
                    "at most 1.5 s.",
                    Unit.SECONDS,
                    percentiles("radref_time_to_first_statement_seconds"),
                    limit=1.5,
                    exemplars=True,
                ),
                Panel(
                    "Search and reranking together",
                    "Stage `retrieval`: from the question to its ranked passages. Objective: p95 at most "
                    "0.3 s.",
                    Unit.SECONDS,
                    percentiles(_STAGE, 'stage="retrieval"'),
                    limit=0.3,
                    exemplars=True,
                ),
                Panel(
                    "Stages, p95",
                    "embed, search and parents are retrieval's; rerank is part of search as people see it. "
                    "They do not add up to the whole: each is a percentile of its own.",
                    Unit.SECONDS,
                    percentiles(_STAGE, by="stage", percents=(95,)),
                ),
                Panel(
                    "Stages, p50",
                    "The usual case; a stage whose p95 moves and whose p50 does not has a tail, not a slow "
                    "machine.",
                    Unit.SECONDS,
                    percentiles(_STAGE, by="stage", percents=(50,)),
                ),
            ],
        ),
        Row(
            "What comes back",
            [
                Panel(
                    "Questions by outcome",
                    "answered, partially_answered, abstained. Errors are not in it.",
                    Unit.CALLS_PER_SECOND,
                    [Query(rate("radref_answers_total", by="outcome"), "{{outcome}}")],
                    stacked=True,
                ),
                Panel(
                    "Share of abstentions",
                    "Good service where the knowledge base holds no answer. A jump looks like this when the "
                    "knowledge base is broken.",
                    Unit.SHARE,
                    [
                        Query(
                            share(
                                rate("radref_answers_total", 'outcome="abstained"'),
                                rate("radref_answers_total"),
                            ),
                            "abstained",
                        )
                    ],
                ),
                Panel(
                    "Abstentions by reason",
                    "insufficient_evidence: the gate saw too little; no_valid_citation: the validator left "
                    "nothing; conflict: sources disagree; out_of_scope: not radiology.",
                    Unit.CALLS_PER_SECOND,
                    [Query(rate("radref_abstentions_total", by="reason"), "{{reason}}")],
                    stacked=True,
                ),
                Panel(
                    "Citations by what the validator found",
                    "valid, unknown (not one of the passages of this question), misquoted (the quote is not "
                    "in it).",
                    Unit.PER_SECOND,
                    [Query(rate("radref_citations_total", by="result"), "{{result}}")],
                    stacked=True,
                ),
                Panel(
                    "Share of citations stripped",
                    "unknown and misquoted among all. Nobody saw them; a rise says that the generator got "
                    "worse.",
                    Unit.SHARE,
                    [
                        Query(
                            share(rate("radref_citations_total", _STRIPPED), rate("radref_citations_total")),
                            "stripped",
                        )
                    ],
                ),
                Panel(
                    "Tokens of the generator",
                    "prompt and completion; 0 with the extractive generator.",
                    Unit.PER_SECOND,
                    [Query(rate("radref_generation_tokens_total", by="kind"), "{{kind}}")],
                ),
            ],
        ),
        Row(
            "Who is turned away",
            [
                Panel(
                    "Calls refused because full",
                    "RESOURCE_EXHAUSTED with a time to come back: more comes in than is worked off.",
                    Unit.CALLS_PER_SECOND,
                    [Query(rate("radref_admission_rejected_total", job(GATEWAY)), "refused")],
                ),
                Panel(
                    "Calls refused because their caller calls too often",
                    "RESOURCE_EXHAUSTED too, but only for that caller.",
                    Unit.CALLS_PER_SECOND,
                    [Query(rate("radref_rate_limited_total", job(GATEWAY)), "refused")],
                ),
                Panel(
                    "Calls refused by access control",
                    "By reason. TOKEN_EXPIRED of many callers: an integrator's renewal broke; TOKEN_INVALID "
                    "of all: keys changed.",
                    Unit.CALLS_PER_SECOND,
                    [Query(rate("radref_access_refused_total", by="reason"), "{{reason}}")],
                    stacked=True,
                ),
                Panel(
                    "Calls in flight",
                    "Being served or waiting for a place, by pod.",
                    Unit.COUNT,
                    [Query(selector("radref_inflight_requests", job(GATEWAY)), "{{instance}}")],
                ),
                Panel(
                    "Audit writes that failed",
                    "Must be 0.",
                    Unit.PER_SECOND,
                    [Query(rate("radref_audit_failures_total", job(GATEWAY)), "failed")],
                ),
            ],
        ),
        process_row(GATEWAY),
    ],
)
