"""Derives samples/questions.jsonl from samples/qa.jsonl, the only copy that is kept by hand.

qa.jsonl has the form that `radref eval qa` reads. questions.jsonl is the short form for demos and checks:
id, language, query, expect ("answer" or "abstain"), and for an answer document, quotes and facts, for an
abstention why. Run from the repository root after a change of qa.jsonl:

    python -m samples.build.derive_questions
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).resolve().parent.parent


def question(entry: dict[str, Any]) -> dict[str, Any]:
    """The short form of one line of qa.jsonl.

    Raises:
        KeyError: the line lacks a field of its form.
    """
    short = {field: entry[field] for field in ("id", "language", "query")}
    if entry.get("expect") == "abstain":
        return short | {"expect": "abstain", "why": entry["why"]}
    return short | {
        "expect": "answer",
        "document": entry["gold_doc"],
        "quotes": entry["gold_quotes"],
        "facts": entry["key_facts"],
    }


def derive(qa: str) -> str:
    """Text of questions.jsonl for the text of qa.jsonl."""
    entries = [json.loads(line) for line in qa.splitlines() if line.strip()]
    return "".join(json.dumps(question(entry), ensure_ascii=False) + "\n" for entry in entries)


def main() -> int:
    derived = derive((SAMPLES / "qa.jsonl").read_text(encoding="utf-8"))
    (SAMPLES / "questions.jsonl").write_text(derived, encoding="utf-8")
    print(f"questions.jsonl  {len(derived.splitlines())} questions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
