"""Feedback as a table for spreadsheets and statistics."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import TextIO

from radref.api.gateway.v1 import gateway_pb2
from radref.cli.names import criterion_name, outcome_name

_BEFORE = ("feedback_id", "request_id", "at_utc", "actor", "method", "outcome", "query_hash")
_CRITERIA = [number for number in gateway_pb2.FeedbackCriterion.values() if number]
# A spreadsheet takes a cell that begins so for a formula (OWASP, CSV injection).
_FORMULA_STARTS = ("=", "+", "-", "@", "\t")


def write_csv(entries: Iterable[gateway_pb2.FeedbackEntry], file: TextIO) -> None:
    """One row a verdict: a column a criterion (empty = not marked), passages as "id=mark id=mark".

    Args:
        file: opened with newline="".
    """
    writer = csv.writer(file)
    criteria = [criterion_name(number) for number in _CRITERIA]
    writer.writerow([*_BEFORE, *criteria, "passages", "comment"])
    for entry in entries:
        marks = {rating.criterion: rating.rating for rating in entry.ratings}
        writer.writerow(
            [
                entry.feedback_id,
                entry.request_id,
                entry.at.ToJsonString(),
                _text(entry.actor),
                entry.method,
                outcome_name(entry.outcome),
                entry.query_hash,
                *(marks.get(number, "") for number in _CRITERIA),
                " ".join(f"{passage.citation_id}={passage.usefulness}" for passage in entry.passages),
                _text(entry.comment),
            ]
        )


def _text(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA_STARTS) else cell
