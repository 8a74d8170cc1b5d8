"""What the extractive generator shows where the bare words would mislead: a Markdown table.

    python -m benchmarks.misleading_sentences

The cases are those of tests/inference/generators/test_extractive_compose.py, which also checks that every
statement passes the gateway's validator.
"""

from __future__ import annotations

from tests.inference.generators.test_extractive_compose import CASES, shown


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    print("| case | the bare words | what is shown |")
    print("|---|---|---|")
    for name, text, words, _ in CASES:
        statement, _, _ = shown(text, words)
        print(f"| {_cell(name)} | {_cell(words)} | {_cell(statement)} |")


if __name__ == "__main__":
    main()
