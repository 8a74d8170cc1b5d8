"""What each choice of the retrieval funnel is worth, on questions with gold quotes.

    python -m benchmarks.retrieval_ablation --data-dir DIR --set QUESTIONS --out FILE.md --json FILE.json \\
        [--more-sets DIR QUESTIONS ...]

DIR is a data directory of `radref up` or `radref eval qa` with the corpus indexed; its index is copied and
only read. Nothing is embedded again but the questions. `--more-sets` asks other questions over another data
directory with three profiles, to see that nothing was tuned to the first set. `--out` is written as a whole,
or between its markers (see `report`) where it has them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import structlog
from rich.console import Console

from benchmarks.retrieval_ablation import report
from benchmarks.retrieval_ablation.measure import Options, measure_all, measure_profiles
from radref.errors import RadrefError


def main() -> int:
    """Runs everything; 1 when something cannot be read or a search failed."""
    arguments = _arguments()
    console = Console(stderr=True)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
    try:
        with tempfile.TemporaryDirectory(prefix="retrieval-ablation-", dir=arguments.work) as folder:
            options = Options(
                cache_dir=arguments.cache_dir.expanduser(),
                work=Path(folder),
                rounds=arguments.rounds,
                note=lambda text: console.print(text, highlight=False),
            )
            full = measure_all(arguments.data_dir, arguments.set, options)
            others = [
                measure_profiles(Path(data_dir), Path(questions), options)
                for data_dir, questions in arguments.more_sets
            ]
    except RadrefError as error:
        console.print(f"{error.reason}: {error}", highlight=False)
        return 1
    report.write(
        arguments.out, "\n\n".join([report.full_tables(full), *(report.short_table(one) for one in others)])
    )
    values = [result.as_json() for result in (full, *others)]
    arguments.json.write_text(json.dumps(values, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="retrieval_ablation", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data-dir", type=Path, required=True, help="with the corpus indexed")
    parser.add_argument("--set", type=Path, required=True, help="questions, see docs/evaluation.md")
    parser.add_argument(
        *("--more-sets",),
        nargs=2,
        action="append",
        default=[],
        metavar=("DIR", "QUESTIONS"),
        help="another data directory and its questions; may be given several times",
    )
    parser.add_argument("--out", type=Path, required=True, help="Markdown tables")
    parser.add_argument("--json", type=Path, required=True, help="figures and ranks of every question")
    parser.add_argument("--rounds", type=int, default=2, help="timed rounds, at least 1 (2)")
    parser.add_argument("--work", type=Path, help="folder for indexes, 700 MB for 6,000 children")
    parser.add_argument(
        "--cache-dir",
        type=Path,
        default=Path("~/.cache/radref/models"),
        help="of converted models, as embedder.cache_dir",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
