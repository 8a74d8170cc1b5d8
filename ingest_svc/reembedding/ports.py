"""What building the index anew needs of its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ingest_svc.indexed_version import IndexedVersion
from ingest_svc.jobs.ports import EmbeddingModel, Inference, StagedDocument


class Models(Protocol):
    """The loaded embedding models; raises as `ingest_svc.embedding_models.EmbeddingModels`."""

    async def loaded(self) -> Sequence[EmbeddingModel]: ...

    async def named(self, model_id: str) -> EmbeddingModel: ...

    async def with_fingerprint(self, fingerprint: str) -> EmbeddingModel: ...

    def inference(self, model_id: str) -> Inference: ...


class GenerationIndex(Protocol):
    """Generations of the index. Every method can be repeated and raises RadrefError."""

    async def fingerprints(self) -> tuple[str, str]:
        """Models of the searched index and of the one being built; empty = none."""
        ...

    async def begin(self, fingerprint: str) -> None:
        """Opens an index for another model beside the searched one."""
        ...

    async def versions(self, fingerprint: str) -> Sequence[IndexedVersion]:
        """Every staged version of the index of this model; empty = of the searched one."""
        ...

    async def stage(self, document: StagedDocument) -> None:
        """Stores a version in the index of the model that made its vectors."""
        ...

    async def switch(self, fingerprint: str) -> str:
        """Searches the index of this model from now on. Returns the model before.

        Raises:
            PreconditionFailed: searched versions are missing in it; metadata "missing" says how many.
        """
        ...

    async def drop(self, fingerprint: str) -> None:
        """Gives up the index that is being built."""
        ...
