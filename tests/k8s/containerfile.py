"""What a Containerfile says, as far as tests ask."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.k8s.manifests import ROOT

FOLDER = ROOT / "containers"


@dataclass(frozen=True, slots=True)
class Containerfile:
    """One image of ours.

    Attributes:
        name: of the image, radref/NAME.
        instructions: (instruction, rest of the line), line breaks joined, without comments.
    """

    name: str
    instructions: tuple[tuple[str, str], ...]

    def of(self, instruction: str) -> list[str]:
        return [rest for name, rest in self.instructions if name == instruction]

    @property
    def extras(self) -> list[str]:
        """Extras of pyproject.toml that are installed."""
        (extra,) = [rest.removeprefix("EXTRA=") for rest in self.of("ARG") if rest.startswith("EXTRA=")]
        return extra.split(",")

    @property
    def packages(self) -> list[str]:
        """Top folders of Python code that are installed."""
        copies = [rest.split() for rest in self.of("COPY") if not rest.startswith("--from")]
        return [source for source, target in (c for c in copies if len(c) == 2) if target == f"./{source}"]

    @property
    def module(self) -> str:
        """What runs: `python -m MODULE`."""
        (entry,) = self.of("ENTRYPOINT")
        return re.fullmatch(r'\["python", "-m", "([a-z_.]+)"\]', entry).group(1)  # type: ignore[union-attr]


def read(path: Path) -> Containerfile:
    text = re.sub(r"\\\n", " ", path.read_text(encoding="utf-8"))
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    pairs = tuple((name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines))
    return Containerfile(path.name.removesuffix(".Containerfile"), pairs)


def all_containerfiles() -> dict[str, Containerfile]:
    found = [read(path) for path in sorted(FOLDER.glob("*.Containerfile"))]
    return {file.name: file for file in found}
