"""Requests of inference.v1 to checked domain objects, and results back to messages."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from inference_svc import limits
from inference_svc.embedders.embedder import (
    EmbeddedTexts,
    EmbedderDescription,
    LateChunked,
    SpannedText,
    TokenizedText,
)
from inference_svc.generators.generator import (
    Delta,
    Finish,
    GenerationInput,
    GeneratorDescription,
    Grounding,
    Message,
    Role,
    Summary,
)
from inference_svc.rerankers.reranker import RerankedDocuments, RerankerDescription
from radref.api.common.v1 import documents_pb2
from radref.api.inference.v1 import inference_pb2
from radref.errors import InvalidInput, Unavailable

_ROLES = {inference_pb2.PROMPT_ROLE_SYSTEM: Role.SYSTEM, inference_pb2.PROMPT_ROLE_USER: Role.USER}
_FINISHES = {Finish.STOP: inference_pb2.FINISH_REASON_STOP, Finish.LENGTH: inference_pb2.FINISH_REASON_LENGTH}


def spanned_texts(request: inference_pb2.EmbedSpans, dimension: int) -> list[SpannedText]:
    """Raises InvalidInput where inference.proto's limits are broken; see `inference_svc.limits`."""
    limits.check_range(len(request.texts), 1, limits.MAX_SPANNED_TEXTS, "spans.texts", "number of texts")
    found = []
    for index, spanned in enumerate(request.texts):
        field = f"spans.texts[{index}]"
        limits.check_text(spanned.text, limits.MAX_DOCUMENT_CHARACTERS, f"{field}.text")
        spans = _pairs(spanned.spans)
        limits.check_spans(spanned.text, spans, f"{field}.spans")
        found.append(SpannedText(spanned.text, spans))
    limits.check_answer_size(sum(len(spanned.spans) for spanned in found), dimension, "spans.texts")
    return found


def generation_input(request: inference_pb2.GenerateRequest) -> GenerationInput:
    """Raises InvalidInput where inference.proto's limits are broken; see `inference_svc.limits`."""
    limits.check_range(len(request.messages), 1, limits.MAX_MESSAGES, "messages", "number of messages")
    for index, message in enumerate(request.messages):
        if message.role not in _ROLES:
            raise InvalidInput("the role of a message is missing", field=f"messages[{index}].role")
        limits.check_text(message.content, limits.MAX_MESSAGE_CHARACTERS, f"messages[{index}].content")
    limits.check_length(request.json_schema, limits.MAX_SCHEMA_CHARACTERS, "json_schema")
    limits.check_text(request.query, limits.MAX_QUESTION_CHARACTERS, "query")
    limits.check_range(len(request.passages), 0, limits.MAX_PASSAGES, "passages", "number of passages")
    limits.check_range(
        request.max_tokens, 0, limits.MAX_GENERATED_TOKENS, "max_tokens", "upper bound on generated tokens"
    )
    return GenerationInput(
        messages=[Message(_ROLES[message.role], message.content) for message in request.messages],
        query=request.query,
        passages=[_grounding(passage, index) for index, passage in enumerate(request.passages)],
        json_schema=request.json_schema,
        max_tokens=request.max_tokens,
    )


def _grounding(passage: inference_pb2.GroundingPassage, index: int) -> Grounding:
    if not passage.citation_id:
        raise InvalidInput("a passage has no citation id", field=f"passages[{index}].citation_id")
    hits = _pairs(passage.hits)
    if any(not 0 <= start <= end <= len(passage.text) for start, end in hits):
        raise InvalidInput(
            "a hit lies outside its passage", reason="INVALID_SPAN", field=f"passages[{index}].hits"
        )
    if not (passage.score >= 0 and math.isfinite(passage.score)):
        raise InvalidInput("a passage's score is below 0 or no number", field=f"passages[{index}].score")
    return Grounding(
        citation_id=passage.citation_id,
        title=passage.title,
        section_path=tuple(passage.section_path),
        text=passage.text,
        hits=tuple(hits),
        score=passage.score,
    )


def embedded_texts(found: EmbeddedTexts) -> inference_pb2.EmbedResponse:
    texts = zip(found.vectors, found.token_counts, found.truncated, strict=True)
    return inference_pb2.EmbedResponse(
        fingerprint=found.fingerprint,
        texts=[
            inference_pb2.EmbeddedText(
                embeddings=_embeddings(vector[None]), token_count=count, truncated=truncated
            )
            for vector, count, truncated in texts
        ],
        compute_milliseconds=found.compute_seconds * 1000,
    )


def embedded_spans(found: LateChunked) -> inference_pb2.EmbedResponse:
    """Raises Unavailable when the model was replaced in the middle of the request."""
    fingerprints = {text.fingerprint for text in found.texts}
    if len(fingerprints) > 1:
        raise Unavailable("the embedding model was replaced during this request; send it again")
    return inference_pb2.EmbedResponse(
        fingerprint=fingerprints.pop(),
        texts=[
            inference_pb2.EmbeddedText(
                embeddings=_embeddings(text.vectors), token_count=text.token_count, truncated=False
            )
            for text in found.texts
        ],
        compute_milliseconds=found.compute_seconds * 1000,
    )


def tokenized_texts(found: Sequence[TokenizedText], overhead: int) -> inference_pb2.TokenizeResponse:
    return inference_pb2.TokenizeResponse(
        overhead=overhead,
        texts=[
            inference_pb2.TokenizedText(
                count=text.count,
                offsets=[]
                if text.offsets is None
                else [documents_pb2.Span(start=start, end=end) for start, end in text.offsets.tolist()],
            )
            for text in found
        ],
    )


def generated(piece: Delta | Summary, model: GeneratorDescription) -> inference_pb2.GenerateResponse:
    if isinstance(piece, Delta):
        return inference_pb2.GenerateResponse(delta=piece.text)
    return inference_pb2.GenerateResponse(
        summary=inference_pb2.GenerationSummary(
            finish_reason=_FINISHES[piece.finish],
            prompt_tokens=piece.prompt_tokens,
            completion_tokens=piece.completion_tokens,
            model=model.id,
            fingerprint=model.fingerprint,
        )
    )


def reranked(found: RerankedDocuments) -> inference_pb2.RerankResponse:
    return inference_pb2.RerankResponse(
        fingerprint=found.fingerprint,
        documents=[
            inference_pb2.RerankedDocument(score=score, truncated=truncated)
            for score, truncated in zip(found.scores, found.truncated, strict=True)
        ],
        compute_milliseconds=found.compute_seconds * 1000,
    )


def described_embedder(model: EmbedderDescription) -> inference_pb2.ModelDescription:
    return inference_pb2.ModelDescription(
        id=model.id,
        kind=inference_pb2.MODEL_KIND_EMBEDDER,
        backend=model.backend,
        fingerprint=model.fingerprint,
        dimension=model.dimension,
        window=model.window,
        query_prefix=model.query_prefix,
        document_prefix=model.document_prefix,
        document_overhead=model.document_overhead,
        tokenizer=model.tokenizer,
    )


def described_reranker(model: RerankerDescription) -> inference_pb2.ModelDescription:
    return inference_pb2.ModelDescription(
        id=model.id,
        kind=inference_pb2.MODEL_KIND_RERANKER,
        backend=model.backend,
        fingerprint=model.fingerprint,
        window=model.window,
    )


def described_generator(model: GeneratorDescription) -> inference_pb2.ModelDescription:
    return inference_pb2.ModelDescription(
        id=model.id,
        kind=inference_pb2.MODEL_KIND_GENERATOR,
        backend=model.backend,
        fingerprint=model.fingerprint,
        window=model.window,
    )


def _embeddings(vectors: NDArray[np.float32]) -> list[inference_pb2.Embedding]:
    # The message's own wire form (packed field 1: tag, length, little-endian floats) is read eleven times
    # faster than a list of Python floats is converted (docs/performance.md).
    raw = np.ascontiguousarray(vectors, "<f4")
    head = b"\x0a" + _varint(raw.shape[1] * raw.itemsize)
    return [inference_pb2.Embedding.FromString(head + vector.tobytes()) for vector in raw]


def _varint(value: int) -> bytes:
    """Protocol Buffers' variable-length integer: seven bits a byte, lowest first."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _pairs(spans: Sequence[documents_pb2.Span]) -> list[tuple[int, int]]:
    return [(span.start, span.end) for span in spans]
