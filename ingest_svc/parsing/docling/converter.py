"""Files through Docling: one converter per worker process, nothing fetched from anywhere."""

from __future__ import annotations

import io
import logging
import os
import warnings
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ingest_svc.parsing.docling.artifacts import check_docling, easyocr_codes
from ingest_svc.parsing.docling.failures import check_complete, check_pages, check_pdf, failure
from ingest_svc.parsing.docling.lost_cells import lost_cells
from ingest_svc.parsing.docling.options import DoclingOptions
from ingest_svc.parsing.draft import Draft
from ingest_svc.parsing.encoding import decode
from ingest_svc.parsing.file_format import FileFormat
from ingest_svc.parsing.html import declared_encoding
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.ooxml_package import check_package
from radref.errors import Unavailable

_TEXT = frozenset({FileFormat.HTML, FileFormat.CSV})
_OOXML = frozenset({FileFormat.DOCX, FileFormat.PPTX, FileFormat.XLSX})
# Their messages quote the text of the file.
_TALKATIVE = ("docling", "docling_core", "docling_ibm_models", "docling_parse", "easyocr", "transformers")


def parse_with_docling(
    data: bytes, file_format: FileFormat, options: DoclingOptions, limits: ParseLimits
) -> Draft:
    """Blocks of a file, converted by Docling.

    The first call in a process loads Docling and its models (seconds); it is meant for worker processes,
    whose time and memory limits hold for all formats but PDF, which stops itself.

    Args:
        data: the file.
        file_format: one of `options.formats()`.
        options: how Docling is run; the same ones for all calls of a process.
        limits: pages, and what an archive may unpack to.

    Raises:
        InvalidInput: CORRUPT_FILE, also where single pages cannot be read; PASSWORD_PROTECTED;
            FILE_TOO_LARGE; UNDECODABLE_TEXT.
        DeadlineExceeded: PARSE_TIMEOUT after `options.timeout_seconds`.
        Unavailable: BACKEND_UNAVAILABLE, Docling or its models are not complete.
        Internal: PARSER_CRASHED, a model failed.
        MemoryError: there is not enough of it.
        ValueError: `file_format` is none of `options.formats()`.
    """
    if file_format not in options.formats():
        raise ValueError(f"{file_format.value} is not read by this route")
    if file_format in _TEXT:
        # The byte order mark outweighs whatever encoding the page declares for its old bytes.
        data = decode(data, declared_encoding(data)).text.encode("utf-8-sig")
    elif file_format in _OOXML:
        check_package(data, limits)
    else:
        check_pdf(data, limits)
    converter = _converter(options)
    with warnings.catch_warnings(), lost_cells() as lost:
        warnings.simplefilter("ignore")
        try:
            result = converter.convert(_stream(data, file_format))
            check_complete(result, file_format, options.timeout_seconds)
            # Here and not above: it loads pandas, and this module is imported to ask what can be read.
            from ingest_svc.parsing.docling.mapping import blocks_from_docling

            draft = blocks_from_docling(result.document)
        except Exception as exc:  # noqa: BLE001 - backends raise anything; a traceback would quote the file
            raise failure(exc, file_format) from None
    check_pages(draft.pages, limits)
    return replace(draft, warnings=draft.warnings + lost.warnings())


def _stream(data: bytes, file_format: FileFormat) -> Any:
    from docling.datamodel.base_models import DocumentStream

    # The name decides the format; Docling must not guess what has been told already.
    return DocumentStream(name=f"document.{file_format.value}", stream=io.BytesIO(data))


@lru_cache(maxsize=1)
def _converter(options: DoclingOptions) -> Any:
    """The process's converter; it keeps its models."""
    check_docling(options)
    # Before anything of Hugging Face is imported: it reads them once.
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_OFFLINE"] = "1"
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    from docling.datamodel.backend_options import CsvBackendOptions, HTMLBackendOptions
    from docling.datamodel.base_models import InputFormat
    from docling.document_converter import (
        CsvFormatOption,
        DocumentConverter,
        ExcelFormatOption,
        HTMLFormatOption,
        PowerpointFormatOption,
        WordFormatOption,
    )

    chosen = {
        # What stands before the first heading is text (form templates have none); chrome is not told from it.
        InputFormat.HTML: HTMLFormatOption(backend_options=HTMLBackendOptions(infer_furniture=False)),
        InputFormat.DOCX: WordFormatOption(),
        InputFormat.PPTX: PowerpointFormatOption(),
        InputFormat.XLSX: ExcelFormatOption(),
        InputFormat.CSV: CsvFormatOption(backend_options=CsvBackendOptions(encoding="utf-8-sig")),
    }
    if options.artifacts_dir is not None:
        chosen[InputFormat.PDF] = _pdf_option(options)
    converter = DocumentConverter(allowed_formats=list(chosen), format_options=chosen)
    if options.artifacts_dir is not None:
        try:
            converter.initialize_pipeline(InputFormat.PDF)
        except Exception as exc:  # noqa: BLE001 - whatever it is, the models do not load
            raise Unavailable(
                f"Docling's models in {options.artifacts_dir} do not load ({type(exc).__name__})."
            ) from None
    return converter


def _pdf_option(options: DoclingOptions) -> Any:
    from docling.datamodel.accelerator_options import AcceleratorOptions
    from docling.datamodel.pipeline_options import (
        EasyOcrOptions,
        HeadingHierarchyOptions,
        PdfPipelineOptions,
        TableFormerMode,
        TableStructureOptions,
    )
    from docling.document_converter import PdfFormatOption

    pipeline = PdfPipelineOptions(
        artifacts_path=options.artifacts_dir,
        enable_remote_services=False,
        allow_external_plugins=False,
        document_timeout=options.timeout_seconds,
        accelerator_options=AcceleratorOptions(device=options.device, num_threads=options.threads),
        do_table_structure=True,
        table_structure_options=TableStructureOptions(mode=TableFormerMode.ACCURATE),
        do_ocr=options.ocr,
        # Bookmarks, numbering and font sizes give the levels that the layout model does not know.
        heading_hierarchy_options=HeadingHierarchyOptions(enabled=True),
        generate_parsed_pages=True,
    )
    if options.ocr:
        pipeline.ocr_options = EasyOcrOptions(
            lang=easyocr_codes(options.languages),
            model_storage_directory=str(options.easyocr_model_dir),
            download_enabled=False,
        )
    return PdfFormatOption(pipeline_options=pipeline)
