"""The store alone at several sizes: latency of a question, memory, build time, recall.

    python -m benchmarks.store_scale --data-dir DIR --questions samples/qa.jsonl [--children 1000 10000]

Reads the index of a data directory of `radref up` (a copy of it; nothing is changed), makes synthetic corpora
of each size from its documents, builds an index of each through the embedded store's adapter and asks it
synthetic questions, one at a time. Every step runs in a process of its own. `--json` keeps the figures
beside those of sizes measured before, and `--plot` draws all of them. Indexes are deleted after use; the
method is in docs/performance.md. Exits 1 when a size failed; the others are kept.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import tempfile
from pathlib import Path

from benchmarks.store_scale.report import Results, machine, markdown_table, plot, result_row
from benchmarks.store_scale.run import Setting, run_size
from benchmarks.store_scale.seeds import read_seeds
from radref.errors import RadrefError

_CACHE = Path("~/.cache/radref/models")
_RESULTS = Path(__file__).parent / "results.json"


def main() -> int:
    """Measures the sizes one after the other."""
    arguments = _arguments()
    results = Results.load(arguments.json)
    failed = False
    with tempfile.TemporaryDirectory(prefix="store-scale-", dir=arguments.work) as folder:
        work = Path(folder)
        _note("reading the corpus, embedding the questions")
        setting = Setting.of(
            read_seeds(
                arguments.data_dir, arguments.questions, cache_dir=arguments.cache.expanduser(), work=work
            ),
            questions=arguments.asked,
            warm_up=arguments.warm_up,
            real_time=arguments.real_time,
            seed=arguments.seed,
        )
        kept = work / "setting.pickle"
        kept.write_bytes(pickle.dumps(setting))
        results.setting, results.machine = setting.described(), machine()
        for children in sorted(arguments.children):
            try:
                results.add(result_row(run_size(kept, children, work, _note)))
            except RadrefError as error:
                _note(f"{children:,} children failed: {error.message}")
                failed = True
                continue
            results.save(arguments.json)
    print(markdown_table(results.sizes))
    if arguments.plot is not None and results.sizes:
        plot(results.sizes, arguments.plot)
    return int(failed)


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.store_scale", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--data-dir", type=Path, required=True, help="data directory of `radref up`")
    parser.add_argument("--questions", type=Path, nargs="+", required=True, help="question sets, JSON lines")
    parser.add_argument(
        "--children", type=_positive, nargs="+", default=[1000, 10_000, 100_000], help="sizes, >= 1"
    )
    parser.add_argument("--asked", type=_positive, default=300, help="questions measured at each size")
    parser.add_argument("--warm-up", type=int, default=50, help="questions asked before them")
    parser.add_argument("--seed", type=int, default=6, help="of all random numbers")
    parser.add_argument(
        "--real-time",
        action="store_true",
        help="ask at real-time priority, so that other load delays nothing (needs the right to)",
    )
    parser.add_argument("--work", type=Path, help="where indexes go while they are measured")
    parser.add_argument("--cache", type=Path, default=_CACHE, help="of the embedder's converted weights")
    parser.add_argument("--json", type=Path, default=_RESULTS, help="figures of all sizes")
    parser.add_argument("--plot", type=Path, help="SVG to draw; needs the extra `benchmarks`")
    return parser.parse_args()


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return value


if __name__ == "__main__":
    sys.exit(main())
