"""Markdown to blocks, by markdown-it-py.

Inline markup stays as written, so that quotes of the source stand in the result; block markup is normalised.
Text that only carries the name .md (a page dump of a PDF) goes to the plain-text parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from ingest_svc.cleaning.hyphens import join_lines, vocabulary
from ingest_svc.cleaning.spaces import one_line, tidy
from ingest_svc.document import Block, BlockKind
from ingest_svc.parsing.blocks import heading, paragraph, table
from ingest_svc.parsing.draft import Draft
from ingest_svc.parsing.front_matter import split_front_matter
from ingest_svc.parsing.html import fragment_blocks
from ingest_svc.parsing.plain_text import parse_text

_ATX = re.compile(r"^\s*#{1,6}\s+\S", re.M)
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.M)
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_IMAGE = re.compile(r"!\[([^\]\n]{0,500})\]\([^)\s]{0,100000}(?:\s+\"[^\"]{0,500}\")?\)")
_LINE_BREAK = re.compile(r"<br\s*/?>", re.I)
_EMPHASIS = re.compile(r"(\*\*|__|\*)(?=\S)(.+?)(?<=\S)\1")
# Longer "underlined" paragraphs are prose above a ruler, not setext headings.
_MAX_SETEXT = 150
_MAX_NESTING = 60


def parse_markdown(text: str) -> Draft:
    """Blocks of a Markdown file."""
    front = split_front_matter(text)
    warnings = (front.warning,) if front.warning else ()
    body = _COMMENT.sub("", front.body)
    if not _ATX.search(body) and not _FENCE.search(body):
        flat = parse_text(body)
        return Draft(
            flat.blocks,
            "plain-text",
            title=front.title,
            removed_characters=flat.removed_characters,
            warnings=warnings,
        )
    body = _IMAGE.sub(lambda match: match.group(1), body)
    # Converters indent by accident; indented code is not told from indented prose, so it is off.
    engine = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable("table").disable("code")
    tree = SyntaxTreeNode(engine.parse(body))
    words = vocabulary(body.splitlines())
    blocks = [block for node in tree.children for block in _block(node, words)]
    return Draft(
        tuple(blocks), "markdown-it-py", title=front.title or _first_title(blocks), warnings=warnings
    )


def _first_title(blocks: list[Block]) -> str:
    first = next((block for block in blocks if block.kind is BlockKind.HEADING), None)
    return first.text.lstrip("# ") if first is not None and first.level == 1 else ""


def _block(node: SyntaxTreeNode, words: frozenset[str]) -> Iterator[Block]:
    if node.type == "heading":
        text = _inline(node, words)
        if node.markup in {"=", "-"} and len(text) > _MAX_SETEXT:
            yield paragraph(text)
        elif text:
            yield heading(_EMPHASIS.sub(r"\2", text), int(node.tag[1]))
    elif node.type == "paragraph":
        if text := _inline(node, words):
            yield paragraph(text)
    elif node.type in {"bullet_list", "ordered_list"}:
        if lines := _list_lines(node, words, 0):
            yield Block(BlockKind.LIST, "\n".join(lines))
    elif node.type == "table":
        made = table(_rows(node, words))
        if made is not None:
            yield made
    elif node.type == "blockquote":
        inner = [block.text for child in node.children for block in _block(child, words)]
        if inner:
            lines = "\n\n".join(inner).split("\n")
            yield Block(BlockKind.QUOTE, "\n".join(f"> {line}".rstrip() for line in lines))
    elif node.type in {"fence", "code_block"}:
        if node.content.strip():
            fence = "````" if "```" in node.content else "```"
            yield Block(BlockKind.CODE, f"{fence}\n{node.content.rstrip()}\n{fence}")
    elif node.type == "html_block":
        yield from fragment_blocks(node.content)


def _inline(node: SyntaxTreeNode, words: frozenset[str]) -> str:
    """Source of a block's inline content on one line."""
    content = "\n".join(child.content for child in node.children if child.type == "inline")
    text = ""
    for line in _LINE_BREAK.sub("\n", content).replace("&nbsp;", " ").split("\n"):
        text = join_lines(text, tidy(line), words)
    return tidy(text)


def _rows(node: SyntaxTreeNode, words: frozenset[str]) -> list[list[str]]:
    return [
        [_inline(cell, words) for cell in row.children]
        for section in node.children
        for row in section.children
    ]


def _list_lines(node: SyntaxTreeNode, words: frozenset[str], depth: int) -> list[str]:
    lines: list[str] = []
    for item in node.children:
        # markdown-it keeps the number of an item in `info`, its delimiter in `markup`.
        label = f"{item.info}{item.markup}" if node.type == "ordered_list" else "-"
        indent = "  " * depth
        texts: list[str] = []
        nested: list[str] = []
        for child in item.children:
            if child.type in {"bullet_list", "ordered_list"}:
                nested.extend(_list_lines(child, words, depth + 1))
            else:
                target = nested if nested else texts
                for block in _block(child, words):
                    single = block.kind in {BlockKind.PARAGRAPH, BlockKind.HEADING}
                    text = one_line(block.text) if single else block.text.replace("\n", f"\n{indent}  ")
                    target.append(text if target is texts else f"{indent}  {text}")
        joined = f"\n{indent}  ".join(texts) if any("\n" in text for text in texts) else " ".join(texts)
        if joined or nested:
            lines.append(f"{indent}{label} {joined}".rstrip())
            lines.extend(nested)
    return lines
