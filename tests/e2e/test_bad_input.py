"""Bad input at the command line: a reason, an exit code that is not 0, and nothing half-indexed."""

import shutil
from pathlib import Path

import pytest

from tests import bad_files
from tests.e2e.conftest import SAMPLES, Running, ingest

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("ask", ""), "EMPTY_TEXT"),
        (("ask", " \t "), "EMPTY_TEXT"),
        (("ask", "x" * 100_000), "TEXT_TOO_LONG"),
        (("search", "x" * 100_000), "TEXT_TOO_LONG"),
        (("ask", "--topic", "astrology", "What is the dose limit?"), "UNKNOWN_TOPIC"),
        (("source", "0" * 20), "UNKNOWN_CITATION"),
        (("source", "not-an-id"), "INVALID_FIELD"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else value,
)
def test_bad_questions(stack: Running, arguments: tuple[str, ...], reason: str) -> None:
    done = stack.cli(*arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"error: {reason}: " in done.stderr
    assert len(done.stderr) < 1000


def test_bad_files_are_refused_and_leave_nothing_behind(stack: Running, tmp_path: Path) -> None:
    # Bytes that are known already are a duplicate whatever their name says; parsing is not asked then.
    known = {path.read_bytes() for path in SAMPLES.iterdir()}
    made = {
        file.data: file
        for file in (maker() for maker in bad_files.MAKERS)
        if file.reason
        and file.data not in known
        # A scan is no bad file where an OCR engine is installed.
        and not (file.reason == "NO_TEXT" and shutil.which("tesseract"))
    }.values()
    for file in made:
        (tmp_path / file.file_name).write_bytes(file.data)
    before = stack.cli("status").stdout
    done = stack.cli("ingest", "--topic", "safety", str(tmp_path), timeout=300)
    assert done.returncode == 1
    for file in made:
        line = next(line for line in done.stdout.splitlines() if file.file_name in line)
        assert "refused" in line
        assert str(file.reason) in line, line
    after = stack.cli("status").stdout
    assert indexed(before) == indexed(after)


def indexed(status: str) -> list[str]:
    return [line for line in status.splitlines() if " indexed " in line]


def test_an_unknown_topic_is_refused_before_anything_is_kept(stack: Running, tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("# Title\n\nA sentence about doses of radiation.\n", encoding="utf-8")
    done = stack.cli("ingest", "--topic", "astrology", str(file))
    assert done.returncode == 1
    assert "UNKNOWN_TOPIC" in done.stdout
    assert "astrology" not in stack.cli("status").stdout
    assert stack.cli("ingest", str(file)).returncode == 2


async def test_good_files_beside_bad_ones_are_indexed(stack: Running, tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text("# Quokka\n\nThe quokka protocol needs 17 gadgets.\n", encoding="utf-8")
    (tmp_path / "bad.md").write_bytes(b"")
    async with stack.client() as client:
        results = await ingest(client, tmp_path, topic="glossary")
        try:
            assert {r.path.name: r.verdict.value for r in results} == {
                "good.md": "indexed",
                "bad.md": "refused",
            }
            found = await client.search("quokka protocol")
            assert "quokka" in found.ranked_parents[0].passage.text
        finally:
            for result in results:
                if result.document_id and result.verdict.value == "indexed":
                    await client.withdraw_document(result.document_id, "test document")
        gone = await client.search("quokka protocol")
        assert all("quokka" not in ranked.passage.text for ranked in gone.ranked_parents)
