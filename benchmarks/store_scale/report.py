"""Figures of all sizes: kept as JSON, printed as a table, drawn."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.store_scale.run import SizeResult

Row = dict[str, Any]

_PROFILES = {"default": "tab:blue", "paper": "tab:orange"}


@dataclass
class Results:
    """What is in the JSON file.

    Attributes:
        setting: what all sizes have in common.
        sizes: a row a size, ascending; a size that is measured again replaces its row.
    """

    setting: dict[str, Any] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    sizes: list[Row] = field(default_factory=list)

    @classmethod
    def load(cls, path: Path) -> Results:
        """From a file; empty where there is none."""
        return cls(**json.loads(path.read_text("utf-8"))) if path.exists() else cls()

    def add(self, row: Row) -> None:
        """Takes a size in."""
        others = [other for other in self.sizes if other["children"] != row["children"]]
        self.sizes = sorted([*others, row], key=lambda one: int(one["children"]))

    def save(self, path: Path) -> None:
        """Replaces the file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def machine() -> dict[str, Any]:
    """Where the figures come from."""
    return {
        "machine": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "qdrant-edge-py": metadata.version("qdrant-edge-py"),
    }


def result_row(result: SizeResult) -> Row:
    """A size as JSON values, rounded to what they are worth."""
    measured = asdict(result.measured)
    del measured["found"]
    row = {
        "children": result.built.children,
        "built": asdict(result.built),
        "measured": measured,
        "recall_at_10": asdict(result.recall),
    }
    rounded: Row = _rounded(row)
    return rounded


def markdown_table(sizes: Sequence[Row]) -> str:
    """The sizes as a table of docs/performance.md."""
    columns: list[tuple[str, Callable[[Row], str]]] = [
        ("children", lambda row: f"{row['children']:,}"),
        ("`default` p50 / p95 ms", lambda row: _latency(row, "default")),
        ("`paper` p50 / p95 ms", lambda row: _latency(row, "paper")),
        ("CPU ms p50", lambda row: f"{row['measured']['default']['cpu_p50']:.0f}"),
        ("recall@10 dense / whole", lambda row: _recall(row, "dense", "whole")),
        ("BM25 parents / children", lambda row: _recall(row, "parents", "children")),
        ("memory MB, not files", lambda row: f"{row['measured']['asked']['anonymous']:,.0f}"),
        ("with mapped files", lambda row: f"{row['measured']['asked']['total']:,.0f}"),
        ("disk MB", lambda row: f"{row['built']['disk_megabytes']:,.0f}"),
        ("upserts s (CPU)", lambda row: _seconds(row, "upsert")),
        ("graphs s (CPU)", lambda row: _seconds(row, "optimise")),
        ("opens in s", lambda row: f"{row['measured']['open_seconds']:.1f}"),
    ]
    lines = [
        "| " + " | ".join(name for name, _ in columns) + " |",
        "|" + "---:|" * len(columns),
        *("| " + " | ".join(cell(row) for _, cell in columns) + " |" for row in sizes),
    ]
    return "\n".join(lines)


def plot(sizes: Sequence[Row], path: Path) -> None:
    """Draws latency and memory over the number of children, both axes logarithmic, as SVG."""
    # Only this needs it: an extra of its own.
    import matplotlib as mpl

    mpl.use("svg")
    # Else every drawing of the same figures is another file.
    mpl.rcParams["svg.hashsalt"] = "store-scale"
    from matplotlib import pyplot as plt

    children = [row["children"] for row in sizes]
    figure, (time, memory) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for profile, colour in _PROFILES.items():
        for percentile, line in (("p50", "-"), ("p95", "--")):
            values = [row["measured"][profile][percentile] for row in sizes]
            time.plot(children, values, line, color=colour, marker="o", label=f"{profile}, {percentile}")
    time.set(title="All searches of a question", ylabel="ms")
    for label, values in (
        ("memory, mapped files included", [row["measured"]["asked"]["total"] for row in sizes]),
        ("memory, not files", [row["measured"]["asked"]["anonymous"] for row in sizes]),
        ("disk", [row["built"]["disk_megabytes"] for row in sizes]),
    ):
        memory.plot(children, values, marker="o", label=label)
    memory.set(title="Memory and disk", ylabel="MB")
    for axes in (time, memory):
        axes.set(xscale="log", yscale="log", xlabel="children")
        axes.grid(which="both", alpha=0.3)
        axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _latency(row: Row, profile: str) -> str:
    return f"{row['measured'][profile]['p50']:.0f} / {row['measured'][profile]['p95']:.0f}"


def _recall(row: Row, *names: str) -> str:
    return " / ".join(f"{row['recall_at_10'][name]:.3f}" for name in names)


def _seconds(row: Row, step: str) -> str:
    built = row["built"]
    return f"{built[f'{step}_seconds']:,.0f} ({built[f'{step}_cpu_seconds']:,.0f})"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return value
