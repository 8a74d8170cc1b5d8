"""`radref kb load-variants` as a process of its own against a whole ingest service."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from radref.appropriateness.documents import variant_document_id
from tests.ingest.service.ingest_client import Client
from tests.ingest.service.ingest_stack import Stack

SAMPLE = Path(__file__).parents[3] / "samples" / "appropriateness" / "kb.yaml"
PATIENCE_SECONDS = 60.0


async def load(client: Client, *arguments: str | Path) -> tuple[str, str]:
    """What the command wrote to standard output and error."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "radref.cli.main", "kb", "load-variants"),
        *map(str, arguments),
        env={**os.environ, "RADREF_INGEST": client.address},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE_SECONDS):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode(), err.decode()


async def test_a_base_is_loaded_changed_and_shortened(client: Client, stack: Stack, tmp_path: Path) -> None:
    file = tmp_path / "kb.yaml"
    text = SAMPLE.read_text(encoding="utf-8")
    file.write_text(text, encoding="utf-8")
    assert "12 new, 0 changed, 0 unchanged, 0 withdrawn, 0 failed\n" in (await load(client, file))[0]
    assert len(stack.index.active) == 12

    shorter = text[: text.index("  - id: low-back-pain\n")].replace("First study; do not delay.", "First.")
    file.write_text(shorter, encoding="utf-8")
    said, _ = await load(client, file, "--withdraw-missing", "--reason", "new edition", "--yes")
    assert "0 new, 1 changed, 2 unchanged, 9 withdrawn, 0 failed\n" in said
    assert stack.index.active == {
        variant_document_id("headache-thunderclap"): 2,
        variant_document_id("headache-primary"): 1,
        variant_document_id("headache-red-flag"): 1,
    }
    assert "0 new, 0 changed, 3 unchanged, 0 withdrawn, 0 failed\n" in (await load(client, file))[0]
