"""reStructuredText to blocks: docutils makes HTML of it, the HTML parser makes blocks of that."""

from __future__ import annotations

import re

from docutils import nodes
from docutils.core import publish_doctree, publish_from_doctree
from docutils.utils import SystemMessage

from ingest_svc.parsing.draft import Draft
from ingest_svc.parsing.html import parse_html
from radref.errors import InvalidInput

# Signs that plain text has only by intention.
_DIRECTIVE = re.compile(r"^ {0,3}\.\. [a-z][\w.:-]*::(?:\s|$)", re.M)
_TARGET = re.compile(r"^ {0,3}\.\. (?:_[^\n]{1,200}:(?:\s|$)|\[[^\]\n]{1,40}\] )", re.M)
_ROLE = re.compile(r"(?<!\w):[a-z][\w-]*:`[^`\n]+`")
_REFERENCE = re.compile(r"`[^`\n]+`__?(?!\w)")
_LITERAL = re.compile(r"(?<!`)``[^`\n]+``(?!`)")
_UNDERLINE = re.compile(r"^(?=\S)(?P<title>[^\n]{3,120})\n(?P<line>([=\-~^\"'#*+`.:_])\3{2,})[ \t]*$", re.M)

_SETTINGS = {
    # A document may not read other files of the machine, fetch anything or pass HTML through.
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "input_encoding": "unicode",
    "output_encoding": "unicode",
    "embed_stylesheet": False,
    "stylesheet_path": "",
    "stylesheet_dirs": [],
    "math_output": "MathML",
    "report_level": 3,
    "halt_level": 5,
    "warning_stream": False,
    "traceback": False,
    "doctitle_xform": True,
    "sectsubtitle_xform": False,
    "line_length_limit": 1_000_000,
    "syntax_highlight": "none",
    "smart_quotes": False,
    "toc_backlinks": False,
}


def is_restructured(text: str) -> bool:
    """True for text that is written as reStructuredText: two different signs of it, one of them its own.

    Underlined titles and double back quotes also stand in other plain text.
    """
    own = [pattern.search(text) is not None for pattern in (_DIRECTIVE, _TARGET, _ROLE)]
    shared = [_REFERENCE.search(text) is not None, _LITERAL.search(text) is not None, _has_title(text)]
    return any(own) and sum(own) + sum(shared) >= 2


def _has_title(text: str) -> bool:
    return any(len(match["line"]) >= len(match["title"].rstrip()) for match in _UNDERLINE.finditer(text))


def parse_restructured(text: str) -> Draft:
    """Blocks of reStructuredText. Comments are left out; what docutils does not know is kept as written.

    Raises:
        InvalidInput: CORRUPT_FILE, when the markup is nested too deeply.
    """
    try:
        tree = publish_doctree(text, settings_overrides=_SETTINGS)
        unknown = _keep_unknown(tree)
        page = publish_from_doctree(tree, writer="html5", settings_overrides=_SETTINGS)
    except (RecursionError, SystemMessage) as exc:
        raise InvalidInput("The reStructuredText is damaged.", reason="CORRUPT_FILE") from exc
    made = parse_html(page)
    warnings = (f"{unknown} unknown markup elements were kept as written.",) if unknown else ()
    return Draft(made.blocks, "docutils", title=str(tree.get("title", "")), warnings=warnings)


def _keep_unknown(tree: nodes.document) -> int:
    """Replaces messages about markup that docutils does not know by its text; returns how many there were.

    Directives of other tools (versionadded, toctree) carry text; docutils would only report them.
    """
    kept = 0
    for message in list(tree.findall(nodes.system_message)):
        literal = next(iter(message.findall(nodes.literal_block)), None)
        parent = message.parent
        if literal is None:
            parent.remove(message)
            continue
        kept += 1
        source = literal.astext()
        parent.replace(message, nodes.literal_block(source, source))
    # docutils would append what it has to say about the rest as a section of the document.
    tree.parse_messages.clear()
    tree.transform_messages.clear()
    return kept
