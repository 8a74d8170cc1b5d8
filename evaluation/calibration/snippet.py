"""The fitted gate as settings for `gateway.gate`."""

from __future__ import annotations

import math
from typing import Any

import yaml

from evaluation.calibration.fit import Weights
from evaluation.calibration.signals import SIGNALS
from radref.api.gateway.v1 import answer_pb2

_DIGITS = 4


def gate_yaml(weights: Weights, bound: float, versions: answer_pb2.Versions, source: str) -> str:
    """A settings file with what was fitted.

    Args:
        source: what it was fitted on, for the comment.
    """
    gate: dict[str, Any] = {"embedder_fingerprint": versions.embedder}
    signals = {
        name: {"weight": round(float(weight), _DIGITS), "typical": round(float(typical), _DIGITS)}
        for name, weight, typical in zip(SIGNALS, weights.weight, weights.typical, strict=True)
        if weight > 0
    }
    if "best_rerank" in signals:
        gate["reranker_fingerprint"] = versions.reranker
    # Rounded down, so that no question at the bound is refused by rounding.
    gate["min_score"] = math.floor(bound * 10**_DIGITS) / 10**_DIGITS
    unused = {name: {"weight": 0.0} for name in SIGNALS if name not in signals}
    text = yaml.safe_dump({"gateway": {"gate": {**gate, **signals, **unused}}}, sort_keys=False)
    return f"# {source}\n{text}"
