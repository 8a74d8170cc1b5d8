"""XLSX to blocks, by openpyxl: each sheet a heading, each region of cells a table."""

from __future__ import annotations

import io
import warnings
import zipfile

import openpyxl
from lxml import etree
from openpyxl.utils.exceptions import InvalidFileException

from ingest_svc.cleaning.spaces import one_line
from ingest_svc.document import Block
from ingest_svc.parsing.blocks import heading
from ingest_svc.parsing.draft import Draft
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.ooxml_package import check_package, corrupt
from ingest_svc.parsing.xlsx_cells import Budget, read_cells
from ingest_svc.parsing.xlsx_layout import SheetLayout, read_layouts
from ingest_svc.parsing.xlsx_regions import regions
from ingest_svc.parsing.xlsx_tables import region_blocks
from radref.errors import InvalidInput


def parse_xlsx(data: bytes, limits: ParseLimits) -> Draft:
    """Blocks of a workbook; values as Excel shows them, formulas as their last computed values.

    Hidden sheets, columns and rows are left out and reported.

    Raises:
        InvalidInput: CORRUPT_FILE, FILE_TOO_LARGE (also for more cells than `xlsx_cells.MAX_CELLS`)
            or PASSWORD_PROTECTED.
    """
    check_package(data, limits)
    try:
        with warnings.catch_warnings():
            # openpyxl warns about what it leaves out (drawings, validation) and quotes values of cells.
            warnings.simplefilter("ignore")
            return _read(data, limits)
    except InvalidInput:
        raise
    except (
        etree.XMLSyntaxError,
        SyntaxError,  # xml.etree.ElementTree.ParseError
        InvalidFileException,
        zipfile.BadZipFile,
        KeyError,
        ValueError,
        AttributeError,
        IndexError,
        TypeError,
        RecursionError,
        OSError,
    ) as exc:
        raise corrupt("the parts of the workbook do not fit together") from exc


def _read(data: bytes, limits: ParseLimits) -> Draft:
    workbook = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    try:
        layouts = read_layouts(data)
        budget = Budget(limits.max_characters)
        blocks: list[Block] = []
        hidden_sheets = hidden_columns = hidden_rows = formulas = 0
        for sheet in workbook.worksheets:
            if sheet.sheet_state != "visible":
                hidden_sheets += 1
                continue
            layout = layouts.get(sheet.title, SheetLayout())
            cells = read_cells(sheet, layout, budget)
            hidden_columns += cells.hidden_columns
            hidden_rows += cells.hidden_rows
            formulas += layout.uncomputed
            found = [
                block
                for region in regions(cells.texts, layout.shown_merges())
                for block in region_blocks(region)
            ]
            if found:
                blocks.extend([heading(sheet.title, 1), *found])
    finally:
        workbook.close()
    remarks = [
        message
        for count, message in (
            (hidden_sheets, f"{hidden_sheets} hidden sheets were left out."),
            (hidden_columns, f"{hidden_columns} hidden columns were left out."),
            (hidden_rows, f"{hidden_rows} hidden rows were left out."),
            (formulas, f"{formulas} formulas have no computed value; their cells are empty."),
        )
        if count
    ]
    named = one_line(workbook.properties.title or "")
    return Draft(tuple(blocks), "openpyxl", title=named, warnings=tuple(remarks))
