"""`python -m benchmarks.chaos`: exit 1 when an answer was wrong or unfounded."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.chaos.faults import Fault, FaultKind
from benchmarks.chaos.report import markdown
from benchmarks.chaos.run import run_faults
from benchmarks.live.system import SERVICES, running_stack


def main() -> None:
    """Does the faults on an own system and prints the page."""
    parser = argparse.ArgumentParser(prog="benchmarks.chaos", description=__doc__)
    parser.add_argument("--services", nargs="+", choices=SERVICES, default=list(SERVICES))
    parser.add_argument("--faults", nargs="+", choices=list(FaultKind), default=list(FaultKind))
    parser.add_argument("--data-dir", type=Path, help="keep the system's data here; default: nowhere")
    parser.add_argument("--json", type=Path, help="write the result here")
    parser.add_argument("--markdown", type=Path, help="write the page here")
    arguments = parser.parse_args()
    faults = [Fault(service, FaultKind(kind)) for kind in arguments.faults for service in arguments.services]
    with tempfile.TemporaryDirectory(prefix="radref-chaos-") as scratch:
        result = asyncio.run(_measure(arguments.data_dir or Path(scratch), faults))
    page = markdown(result)
    print(page)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if arguments.markdown:
        arguments.markdown.write_text(page, encoding="utf-8")
    bad = sum(fault["answers"]["wrong"] + fault["answers"]["unfounded"] for fault in result["faults"])
    sys.exit(1 if bad else 0)


async def _measure(data_dir: Path, faults: list[Fault]) -> dict[str, Any]:
    load_average = os.getloadavg()[0]
    async with running_stack(data_dir) as stack:
        result = await run_faults(stack, faults, lambda text: print(text, file=sys.stderr))
    return {"processors": os.cpu_count() or 1, "load_average": load_average, **result}


if __name__ == "__main__":
    main()
