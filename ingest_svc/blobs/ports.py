"""What the store of uploaded bytes offers, wherever it keeps them."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self


class BlobWriter(Protocol):
    """Takes the bytes of one upload. A context manager: without `keep` they are gone when it ends."""

    @property
    def size(self) -> int:
        """Bytes taken so far."""
        ...

    @property
    def sha256(self) -> str:
        """Of the bytes so far, 64 hexadecimal digits."""
        ...

    async def write(self, data: bytes, /) -> None:
        """Appends bytes.

        Raises:
            Unavailable: BACKEND_UNAVAILABLE, the disk is full or broken.
        """
        ...

    async def content(self) -> bytes:
        """The bytes so far, for a file that is not kept."""
        ...

    async def keep(self) -> None:
        """Puts the bytes in their place, safe from a power cut; nothing is written after it.

        The same bytes again are fine, and put right what was damaged.

        Raises:
            Unavailable: BACKEND_UNAVAILABLE; nothing was kept.
        """
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Blobs(Protocol):
    """Uploaded bytes; a blob is there completely or not at all."""

    def new_blob(self) -> BlobWriter:
        """A writer for the bytes of one upload.

        Raises:
            Unavailable: BACKEND_UNAVAILABLE, the disk is full or broken.
        """
        ...

    async def read(self, sha256: str, /) -> bytes:
        """The bytes.

        Raises:
            Internal: they are missing or no longer match their hash.
            Unavailable: BACKEND_UNAVAILABLE, the store does not answer.
        """
        ...
