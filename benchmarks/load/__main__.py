"""`python -m benchmarks.load`: exit 1 when a target is missed."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.live.calls import KINDS
from benchmarks.live.system import running_stack
from benchmarks.load.figures import figures
from benchmarks.load.phases import measure
from benchmarks.load.report import markdown
from evaluation.bootstrap import quantile
from gateway.settings import GatewaySettings
from radref.cli.stack import sized_to_this_machine


def main() -> None:
    """Measures on an own system and prints the tables."""
    parser = argparse.ArgumentParser(prog="benchmarks.load", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.5, help="of overload, both kinds together")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--data-dir", type=Path, help="keep the system's data here; default: nowhere")
    parser.add_argument("--json", type=Path, help="write the result here")
    parser.add_argument("--markdown", type=Path, help="write the tables here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="radref-load-") as scratch:
        result = asyncio.run(_measure(arguments.data_dir or Path(scratch), arguments))
    tables = markdown(result)
    print(tables)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if arguments.markdown:
        arguments.markdown.write_text(tables, encoding="utf-8")
    missed = [
        target for figure in result["kinds"].values() for target in figure["targets"] if not target["met"]
    ]
    sys.exit(1 if missed else 0)


async def _measure(data_dir: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    seconds = arguments.minutes * 60 / len(arguments.kinds)
    load_average = os.getloadavg()[0]
    async with running_stack(data_dir) as stack:
        measured = {
            kind: await measure(stack, kind, seconds=seconds, say=lambda text: print(text, file=sys.stderr))
            for kind in arguments.kinds
        }
    # The answer's median is the yardstick for whoever is refused; without Generate, Search's own.
    yardstick = measured.get("generate") or next(iter(measured.values()))
    median = quantile([call.milliseconds for call in yardstick.unloaded if call.code == "OK"], 0.5)
    if median is None:
        raise RuntimeError("nothing was answered without load")
    settings = GatewaySettings()
    # One for each place for look-ups and for models, and one queue for each of the two.
    model_places = int(sized_to_this_machine(None).get("RADREF_GATEWAY_MAX_MODEL_CALLS", 0))
    bound = settings.max_inflight + model_places + 2 * settings.max_queue
    return {
        "processors": os.cpu_count() or 1,
        "load_average": load_average,
        "overload_seconds": seconds,
        "kinds": {
            kind: figures(phases, answer_median=median, waiting_bound=bound)
            for kind, phases in measured.items()
        },
    }


if __name__ == "__main__":
    main()
