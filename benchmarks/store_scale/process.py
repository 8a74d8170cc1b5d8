"""Memory of this process, and functions run in processes of their own so that it means something."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

A = ParamSpec("A")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident memory in MB (10^6 bytes): all, and the part that is no mapped file and cannot be dropped."""

    total: float
    anonymous: float

    def __sub__(self, other: Memory) -> Memory:
        return Memory(self.total - other.total, self.anonymous - other.anonymous)


def resident() -> Memory:
    """Of this process, now (Linux)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return Memory(*(int(fields[name].split()[0]) * 1024 / 1e6 for name in ("VmRSS", "RssAnon")))


def disk_megabytes(folder: Path) -> float:
    """What the files of a folder occupy, in MB (10^6 bytes)."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file()) / 1e6


def alone(function: Callable[A, R], *args: A.args, **kwargs: A.kwargs) -> R:
    """What the function returns, called in a fresh process; what it raises is raised here."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        return pool.submit(function, *args, **kwargs).result()
