"""Progress bars on standard error, so that standard output holds results only."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


def progress_on(console: Console, *, refreshes: float = 10) -> Progress:
    """A progress display: what, bar, done/total, elapsed, remaining; drawn `refreshes` times a second."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        refresh_per_second=refreshes,
    )
