"""Children fit the window when they are tokenised by themselves, by tokenizers of common kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from ingest_svc.chunking.children import embedding_text
from ingest_svc.chunking.chunk import chunk_document
from ingest_svc.chunking.model import ChunkLimits
from ingest_svc.chunking.tokens import TokenMap
from ingest_svc.document import Block, render
from tests.ingest.chunking.chunking_documents import bullets, heading, paragraph, table

OVERHEAD = 5

ENGLISH = (
    "The licensee shall limit the occupational dose to individual adults to an annual limit of 50 mSv "
    "(5 rem), e.g. by shielding. Each licensee must keep records of exposure for 3.5 years. "
)
RUSSIAN = (
    "Годовая эффективная доза персонала группы А не должна превышать 20 мЗв в среднем за 5 лет, "
    "но не более 50 мЗв в год (см. п. 3 ст. 12). Учёт рентгенодиагностических исследований ведёт учреждение. "
)

DOCUMENT: tuple[Block, ...] = (
    heading(1, "Radiation safety — Радиационная безопасность"),
    *(paragraph((ENGLISH if n % 2 else RUSSIAN) * (1 + n % 7)) for n in range(12)),
    heading(2, "Limits"),
    table(["Organ / орган", "Limit, mSv"], *[[f"хрусталик глаза {n}", f"{n}.5 per year"] for n in range(90)]),
    bullets(*[RUSSIAN] * 6),
    heading(2, "Hard cases"),
    paragraph("рентгеноэлектрокардиографический" * 120),
    paragraph("й ё é ﬁ ½ ２０ " * 200),
    paragraph("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ" * 60),
)


def _unigram() -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    trainer = trainers.UnigramTrainer(vocab_size=400, unk_token="<unk>", special_tokens=["<unk>"])
    tokenizer.train_from_iterator(_corpus(), trainer)
    return tokenizer


def _byte_bpe() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(_corpus(), trainer)
    return tokenizer


def _corpus() -> Iterable[str]:
    return [ENGLISH, RUSSIAN, "Organ Limit mSv хрусталик глаза per year 0.5 1.5"] * 5


@pytest.mark.parametrize("make", [_unigram, _byte_bpe])
@pytest.mark.parametrize("heading_prefix", [False, True])
def test_children_fit_by_themselves(make: Callable[[], Tokenizer], heading_prefix: bool) -> None:
    tokenizer = make()

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    text, placed = render(DOCUMENT)
    tokens = TokenMap(text, tokenizer.encode(text, add_special_tokens=False).offsets)
    title = "Rules — Правила"
    limits = ChunkLimits(
        parent_tokens=700, child_tokens=256, child_characters=300, heading_prefix=heading_prefix
    )
    chunked = chunk_document(
        text,
        placed,
        tokens,
        limits,
        document_id="d",
        version=1,
        overhead=OVERHEAD,
        title=title,
        title_tokens=count(title),
    )
    assert chunked.report.indivisible_rows == ()
    assert chunked.report.children > 20
    for item in chunked.chunks:
        # Parents are not embedded whole; words cut in two may add a few tokens.
        assert count(item.parent.text) <= limits.parent_tokens + 4
        for child in item.children:
            assert count(embedding_text(item.parent, child)) + OVERHEAD <= limits.child_tokens
