"""Safety of an Office Open XML archive, checked before any XML is parsed."""

from __future__ import annotations

import io
import re
import zipfile

from ingest_svc.parsing.limits import MEBIBYTE, ParseLimits
from radref.errors import InvalidInput

# Small archives may pack well without harm; the ratio counts above this size.
_RATIO_COUNTS_FROM = 16 * MEBIBYTE
_MAX_PARTS = 20_000
_TYPES = "[Content_Types].xml"
_DOCTYPE = re.compile(rb"<!DOCTYPE|<!ENTITY|<\x00!\x00D\x00O\x00C\x00T|\x00<\x00!\x00D\x00O\x00C\x00T")


def check_package(data: bytes, limits: ParseLimits) -> None:
    """Reads every part once, bounded, without parsing it.

    Raises:
        InvalidInput: FILE_TOO_LARGE for a zip bomb, CORRUPT_FILE for damage or a document type
            declaration (Office never writes one; it is how entity attacks begin), PASSWORD_PROTECTED.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if len(archive.infolist()) > _MAX_PARTS:
                raise _too_large(limits)
            expanded = 0
            for info in archive.infolist():
                if info.flag_bits & 1:
                    raise InvalidInput(
                        "The file is encrypted. Remove its password and send it again.",
                        reason="PASSWORD_PROTECTED",
                    )
                # The directory may lie about sizes, so the bytes themselves are counted.
                expanded += _expanded_size(
                    archive, info, limits.max_expanded_bytes - expanded, limits, len(data)
                )
    except InvalidInput:
        raise
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, RuntimeError, NotImplementedError) as exc:
        raise corrupt("its archive cannot be unpacked") from exc
    except Exception as exc:  # zlib and lzma have error types of their own
        raise corrupt("its archive cannot be unpacked") from exc


def with_main_type(data: bytes, variants: tuple[str, ...], wanted: str) -> bytes:
    """The archive with another content type of its main part.

    python-docx and python-pptx open only the plain document types; templates, slide shows and files with
    macros (which are never run) have the same parts under another type.

    Args:
        data: an archive that `check_package` accepted.
        variants: content types that stand for `wanted`.
        wanted: the content type the library knows.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if _TYPES not in archive.namelist():
            return data
        types = archive.read(_TYPES)
        changed = types
        for variant in variants:
            changed = changed.replace(f'"{variant}"'.encode(), f'"{wanted}"'.encode())
        if changed == types:
            return data
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as copy:
            for info in archive.infolist():
                copy.writestr(info.filename, changed if info.filename == _TYPES else archive.read(info))
    return buffer.getvalue()


def corrupt(why: str) -> InvalidInput:
    """CORRUPT_FILE with `why` as the end of "The Office file is damaged: "."""
    return InvalidInput(
        f"The Office file is damaged: {why}. Open it, save it again and resend it.", reason="CORRUPT_FILE"
    )


def _expanded_size(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: int, limits: ParseLimits, packed: int
) -> int:
    size = 0
    is_xml = info.filename.lower().endswith((".xml", ".rels", ".vml"))
    tail = b""
    with archive.open(info) as part:
        while piece := part.read(MEBIBYTE):
            size += len(piece)
            over_ratio = size > _RATIO_COUNTS_FROM and size > limits.max_expansion_ratio * packed
            if size > budget or over_ratio:
                raise _too_large(limits)
            if is_xml and _DOCTYPE.search(tail + piece):
                raise corrupt("it holds a document type declaration")
            tail = piece[-32:]
    return size


def _too_large(limits: ParseLimits) -> InvalidInput:
    return InvalidInput(
        "The file unpacks to far more data than a document holds. Save it again from its program.",
        reason="FILE_TOO_LARGE",
        metadata={"limit_bytes": str(limits.max_expanded_bytes)},
    )
