"""python -m benchmarks.contradictions.spot_check FOLDER QUESTIONS.jsonl: notices over real files.

Reads Markdown (no parser), cuts it at headings into passages of at most 1,800 tokens or so, takes for each
question the five passages that share most words with it, and prints every notice for people to judge, with
the time that the search for contradictions took.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from gateway.contradictions import find_contradictions
from gateway.contradictions.subject import read_words
from gateway.model import DocumentInfo, Passage, RankedPassage

_CHARACTERS = 7000


def main() -> None:
    folder, questions = Path(sys.argv[1]), Path(sys.argv[2])
    passages = [passage for path in sorted(folder.glob("*.md")) for passage in _passages(path)]
    words = [read_words(passage.passage.text) for passage in passages]
    reported = 0
    times: list[float] = []
    asked = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines() if line.strip()]
    for entry in asked:
        question = entry["query"]
        wanted = read_words(question)
        ranked = sorted(
            range(len(passages)),
            key=lambda n: -len(wanted.plain & words[n].plain) - len(wanted.facets & words[n].facets),
        )
        chosen = [passages[n] for n in ranked[:5]]
        start = time.perf_counter()
        found = find_contradictions(question, chosen, ())
        times.append((time.perf_counter() - start) * 1000)
        for contradiction in found:
            reported += 1
            print(f"\n? {question}")
            for side in (contradiction.first, contradiction.second):
                print(f"  {side.document_id} {' > '.join(side.section_path)}: {side.value}\n    {side.quote}")
    times.sort()
    print(
        f"\n{len(asked)} questions, {len(passages)} passages, {reported} notices; "
        f"ms: median {median(times):.1f}, 95th percentile {times[int(len(times) * 0.95)]:.1f}, "
        f"most {times[-1]:.1f}"
    )


def _passages(path: Path) -> Iterator[RankedPassage]:
    document = DocumentInfo(title=path.stem, topic="", language="en")
    pieces: list[str] = [""]
    for block in re.split(r"(?=^#)", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
        if len(pieces[-1]) + len(block) > _CHARACTERS and pieces[-1]:
            pieces.append("")
        pieces[-1] += block
    for ordinal, text in enumerate(pieces):
        for part in range(0, len(text), _CHARACTERS):
            passage = Passage(
                f"{ordinal:010x}{part:010x}",
                path.stem,
                1,
                ordinal,
                text[part : part + _CHARACTERS],
                (),
                document,
            )
            yield RankedPassage(passage, 0.01, ())


main()
