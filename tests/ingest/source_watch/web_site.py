"""Pages of a web site on the loopback."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Page:
    """What one path answers."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Site:
    """Pages by path, and every request that came: (path, headers)."""

    port: int
    pages: dict[str, Page] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def url(self, path: str, host: str = "localhost") -> str:
        return f"http://{host}:{self.port}{path}"
