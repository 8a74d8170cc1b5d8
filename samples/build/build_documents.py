"""Makes the .docx, .pdf and .png samples from samples/build/sources/.

Run from the repository root when a source has changed, and commit what it writes:

    pip install -r samples/build/requirements.txt
    python -m samples.build.build_documents

The .md and .html samples are written by hand and stand in samples/documents/ as they are. Which file a
source becomes is said by samples/documents/manifest.jsonl. PDF and PNG need the DejaVu fonts, which cover
Cyrillic (Debian: fonts-dejavu-core; elsewhere name their folder with --fonts). Two runs write the same bytes;
other versions of reportlab, Pillow or the fonts may write other bytes with the same text.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from samples.build.source_blocks import read_source
from samples.build.write_docx import write_docx
from samples.build.write_pdf import write_pdf
from samples.build.write_png import write_png

BUILD = Path(__file__).resolve().parent
DOCUMENTS = BUILD.parent / "documents"
DEBIAN_FONTS = Path("/usr/share/fonts/truetype/dejavu")


@dataclass(frozen=True, slots=True)
class Sample:
    """A manifest entry whose document is generated."""

    doc_id: str
    file: str
    title: str
    language: str
    year: int


def read_manifest(path: Path) -> list[Sample]:
    """Entries whose file is generated, in the manifest's order."""
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [
        Sample(entry["doc_id"], entry["file"], entry["title"], entry["language"], entry["year"])
        for entry in entries
        if Path(entry["file"]).suffix in {".docx", ".pdf", ".png"}
    ]


def build(sample: Sample, fonts: Path) -> bytes:
    """Bytes of the document."""
    blocks = read_source((BUILD / "sources" / f"{sample.doc_id}.md").read_text(encoding="utf-8"))
    match Path(sample.file).suffix:
        case ".docx":
            return write_docx(blocks, sample.title, sample.language, sample.year)
        case ".pdf":
            return write_pdf(blocks, sample.title, sample.language, fonts)
        case _:
            return write_png(blocks, fonts)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=DOCUMENTS, help="folder to write to")
    parser.add_argument("--fonts", type=Path, default=DEBIAN_FONTS, help="folder with DejaVuSans*.ttf")
    arguments = parser.parse_args()
    missing = [n for n in ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf") if not (arguments.fonts / n).is_file()]
    if missing:
        print(f"{', '.join(missing)} not found in {arguments.fonts}; see --fonts", file=sys.stderr)
        return 2
    arguments.out.mkdir(parents=True, exist_ok=True)
    for sample in read_manifest(DOCUMENTS / "manifest.jsonl"):
        data = build(sample, arguments.fonts)
        (arguments.out / sample.file).write_bytes(data)
        print(f"{sample.file}  {len(data)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
