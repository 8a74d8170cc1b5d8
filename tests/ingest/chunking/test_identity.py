from __future__ import annotations

import hashlib
from itertools import product

from ingest_svc.chunking.identity import citation_id


def test_is_the_hash_of_a_documented_encoding() -> None:
    expected = hashlib.sha256(b"1:d" + b"1:2" + b"1:3" + b"1:4" + b"2:" + "ё".encode()).hexdigest()[:20]
    assert citation_id("d", 2, "3", 4, "ё") == expected


def test_differs_whenever_a_value_does() -> None:
    values = list(product(("a", "a1", "1"), (1, 11), ("1", "11"), (0, 1, 11), ("", "1", "1:1", "11")))
    assert len({citation_id(*value) for value in values}) == len(values)
