"""The loaded models and how a request picks one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from inference_svc.embedders.embedder import Embedder, EmbedderDescription
from inference_svc.generators.generator import Generator
from inference_svc.rerankers.reranker import Reranker
from radref.errors import InvalidInput, Unavailable


class _Model(Protocol):
    @property
    def id(self) -> str: ...


M = TypeVar("M", bound=_Model)


@dataclass(frozen=True, slots=True)
class Models:
    """Loaded models; the first of each kind is the default."""

    embedders: Sequence[Embedder]
    rerankers: Sequence[Reranker]
    generators: Sequence[Generator]


def embedder_descriptions(embedders: Sequence[Embedder]) -> list[EmbedderDescription]:
    """What the embedders say of themselves, the default one first; empty where none is loaded.

    A remote one that has never answered is left out, so that it takes no other one with it; not the default,
    for then another one would seem to be it.

    Raises:
        Unavailable: NOT_READY, the default one has never answered.
    """
    found = []
    for place, embedder in enumerate(embedders):
        try:
            found.append(embedder.description)
        except Unavailable:
            if place == 0:
                raise
    return found


def pick(models: Sequence[M], name: str) -> M:
    """The model with this id; the first one when the name is empty.

    Raises:
        InvalidInput: UNKNOWN_MODEL, naming the loaded ones.
    """
    for model in models:
        if name in ("", model.id):
            return model
    known = ", ".join(model.id for model in models)
    raise InvalidInput(f"this model is not loaded; loaded: {known}", reason="UNKNOWN_MODEL", field="model")
