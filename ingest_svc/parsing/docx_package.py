"""Safety of a docx archive, checked before any XML is parsed."""

from __future__ import annotations

import io
import zipfile

from ingest_svc.parsing.limits import MEBIBYTE, ParseLimits
from radref.errors import InvalidInput

# Small archives may pack well without harm; the ratio counts above this size.
_RATIO_COUNTS_FROM = 16 * MEBIBYTE


def check_package(data: bytes, limits: ParseLimits) -> None:
    """Reads every XML part once, bounded, without parsing it.

    Raises:
        InvalidInput: FILE_TOO_LARGE for a zip bomb, CORRUPT_FILE for damage or a document type
            declaration (Office never writes one; it is how entity attacks begin), PASSWORD_PROTECTED.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
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
        raise _corrupt("its archive cannot be unpacked") from exc
    except Exception as exc:
        raise _corrupt("its archive cannot be unpacked") from exc


def _expanded_size(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: int, limits: ParseLimits, packed: int
) -> int:
    size = 0
    is_xml = info.filename.lower().endswith((".xml", ".rels"))
    tail = b""
    with archive.open(info) as part:
        while piece := part.read(MEBIBYTE):
            size += len(piece)
            over_ratio = size > _RATIO_COUNTS_FROM and size > limits.max_expansion_ratio * packed
            if size > budget or over_ratio:
                raise InvalidInput(
                    "The file unpacks to far more data than a document holds. Save it again from Word.",
                    reason="FILE_TOO_LARGE",
                    metadata={"limit_bytes": str(limits.max_expanded_bytes)},
                )
            if is_xml and b"<!DOCTYPE" in tail + piece:
                raise _corrupt("it holds a document type declaration")
            tail = piece[-16:]
    return size


def _corrupt(why: str) -> InvalidInput:
    return InvalidInput(
        f"The Word file is damaged: {why}. Save it again from Word and resend it.", reason="CORRUPT_FILE"
    )
