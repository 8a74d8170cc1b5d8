"""All files of a folder, read and compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.parsing_quality.compare import Comparison, compare
from benchmarks.parsing_quality.expected import expected_for, is_expectation
from benchmarks.parsing_quality.markdown_text import read_markdown
from benchmarks.parsing_quality.readers import Reader, Reading

# Folder descriptions and licences are no test files.
_SKIPPED_NAMES = frozenset({"readme.md", "sources.tsv", "license", "license.txt", "manifest.jsonl"})


@dataclass(frozen=True, slots=True)
class FileResult:
    """One file: its path below the folder, what came of it, the comparison where one is possible."""

    name: str
    reading: Reading
    compared: Comparison | None
    expected: str

    def verdict(self) -> str:
        """One of: good; below: WHAT; refused: REASON; read, nothing to compare with."""
        if self.reading.refused:
            return f"refused: {self.reading.refused}"
        if self.compared is None:
            return "read; nothing to compare with"
        short = self.compared.shortfalls()
        return f"below: {', '.join(short)}" if short else "good"


def find_files(folder: Path) -> list[Path]:
    """Files to parse, sorted; expected outputs, hidden files and folder descriptions are left out."""
    return sorted(
        file
        for file in folder.rglob("*")
        if file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(folder).parts)
        and file.name.lower() not in _SKIPPED_NAMES
        and not is_expectation(file)
    )


async def measure(
    folder: Path, read: Reader, wanted: str = "", seen: Callable[[FileResult], None] = lambda _: None
) -> list[FileResult]:
    """Reads file after file.

    Args:
        folder: where the files are, subfolders included.
        read: how.
        wanted: only files whose path below the folder holds this.
        seen: called with each result as it comes.
    """
    results: list[FileResult] = []
    for file in find_files(folder):
        name = file.relative_to(folder).as_posix()
        if wanted not in name:
            continue
        reading = await read(file)
        expectation = expected_for(file)
        compared = None
        if expectation is not None and not reading.refused:
            compared = compare(read_markdown(reading.markdown), expectation)
        result = FileResult(name, reading, compared, expectation.source if expectation else "")
        seen(result)
        results.append(result)
    return results
