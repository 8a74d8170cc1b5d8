"""What of a document is not in its blocks, counted for the parse report."""

from __future__ import annotations

from dataclasses import dataclass

from docling_core.types.doc.common.content_layer import ContentLayer


@dataclass(slots=True)
class LeftOut:
    """Counts.

    Attributes:
        characters: page headers, footers, watermarks and labels inside of pictures, code points.
        hidden: text that its author hid, code points.
        comments: remarks of editors.
        pictures: pictures, none of which is looked at.
    """

    characters: int = 0
    hidden: int = 0
    comments: int = 0
    pictures: int = 0

    def add(self, layer: ContentLayer, text: str) -> None:
        """Counts a text by the layer it is on."""
        if layer is ContentLayer.INVISIBLE:
            self.hidden += len(text)
        else:
            self.characters += len(text)

    def warnings(self) -> tuple[str, ...]:
        """What the reviewer should know."""
        return tuple(
            message
            for count, message in (
                (self.hidden, f"Hidden text of {self.hidden} characters was left out."),
                (self.comments, f"{self.comments} comments were left out."),
                (self.pictures, f"{self.pictures} pictures were not read; text inside them is missing."),
            )
            if count
        )
