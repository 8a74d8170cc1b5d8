"""Takes a snapshot of every collection of the index on every Qdrant node and deletes old ones.

Standard library only: it is mounted into whatever image has Python. The catalogue goes first: points that are
newer than it are only deleted by maintenance, while a catalogue that is newer than the points would name what
is not there (docs/vector-store.md, "Backup"). A collection that fails does not keep the others from being
saved; the job fails then.

Environment: QDRANT_NODES (base URLs, separated by spaces), QDRANT_PREFIX, QDRANT_KEEP (snapshots of a
collection that stay on a node, >= 1), QDRANT_API_KEY_FILE and QDRANT_CA_FILE (both optional).
"""

import json
import os
import ssl
import sys
from pathlib import Path
from urllib.parse import quote
from urllib.request import Request, urlopen

TIMEOUT_SECONDS = 1800


class Node:
    """One Qdrant node over HTTP. Calls raise OSError or ValueError when it does not answer as it should."""

    def __init__(self, url: str, key: str, context: ssl.SSLContext | None) -> None:
        self.url = url.rstrip("/")
        self._key = key
        self._context = context

    def call(self, method: str, path: str) -> object:
        request = Request(f"{self.url}{path}", method=method)
        if self._key:
            request.add_header("api-key", self._key)
        with urlopen(request, timeout=TIMEOUT_SECONDS, context=self._context) as response:
            return json.load(response)["result"]

    def collections(self, prefix: str) -> list[str]:
        names = [entry["name"] for entry in self.call("GET", "/collections")["collections"]]
        return [name for name in names if name.startswith(f"{prefix}-")]

    def save(self, collection: str) -> str:
        return self.call("POST", f"/collections/{quote(collection)}/snapshots?wait=true")["name"]

    def prune(self, collection: str, keep: int) -> list[str]:
        path = f"/collections/{quote(collection)}/snapshots"
        snapshots = sorted(
            self.call("GET", path), key=lambda entry: (entry["creation_time"] or "", entry["name"])
        )
        old = [entry["name"] for entry in snapshots[:-keep]]
        for name in old:
            self.call("DELETE", f"{path}/{quote(name)}?wait=true")
        return old


def restore_safe_order(collection: str) -> tuple[int, str]:
    """Generations, then catalogues, then what they name."""
    rank = {"generations": 0, "catalogue": 1}.get(collection.rpartition("-")[2], 2)
    return rank, collection


def run(nodes: list[Node], prefix: str, keep: int) -> int:
    """How many collections could not be saved or pruned; a node that does not answer counts as one."""
    failures = saved = 0
    found: list[tuple[str, Node]] = []
    for node in nodes:
        try:
            found += [(collection, node) for collection in node.collections(prefix)]
        except (OSError, ValueError, KeyError, TypeError) as error:
            failures += 1
            print(f"{node.url}: {type(error).__name__}: {error}", file=sys.stderr)
    # By collection and not by node: a node's catalogue must not be newer than another node's points either.
    for collection, node in sorted(found, key=lambda pair: restore_safe_order(pair[0])):
        try:
            name = node.save(collection)
            old = node.prune(collection, keep)
        except (OSError, ValueError, KeyError, TypeError) as error:
            failures += 1
            print(f"{node.url} {collection}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        saved += 1
        print(f"{node.url} {collection}: {name}, {len(old)} old ones deleted")
    if not saved and not failures:
        # An index always has collections: none means that the prefix or the cluster is the wrong one.
        failures += 1
        print(f"no collection begins with {prefix}-", file=sys.stderr)
    return failures


def main() -> int:
    key_file, ca_file = os.environ.get("QDRANT_API_KEY_FILE"), os.environ.get("QDRANT_CA_FILE")
    key = Path(key_file).read_text(encoding="utf-8").strip() if key_file else ""
    context = ssl.create_default_context(cafile=ca_file) if ca_file else None
    nodes = [Node(url, key, context) for url in os.environ["QDRANT_NODES"].split()]
    return int(run(nodes, os.environ["QDRANT_PREFIX"], max(1, int(os.environ["QDRANT_KEEP"]))) > 0)


if __name__ == "__main__":
    sys.exit(main())
