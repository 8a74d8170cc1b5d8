"""The files of a published ONNX export: where they lie, and which of them hold weights."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import onnx
from google.protobuf.message import DecodeError
from onnx.external_data_helper import uses_external_data

from radref.errors import Internal, Unavailable


def find(directory: Path, *names: str) -> Path:
    """The first of the named files that is there.

    Raises:
        Unavailable: none is.
    """
    for name in names:
        if (directory / name).is_file():
            return directory / name
    raise Unavailable(f"the embedder's model directory {directory} has no {' and no '.join(names)}")


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object.

    Raises:
        Unavailable: the file cannot be read.
        Internal: it holds something else.
    """
    try:
        body = json.loads(path.read_bytes())
    except OSError as exc:
        raise Unavailable(f"the embedder's {path.name} cannot be read: {path}: {exc.strerror}") from exc
    except ValueError as exc:
        raise Internal(f"the embedder's {path.name} is no JSON file: {path}") from exc
    if not isinstance(body, dict):
        raise Internal(f"the embedder's {path.name} holds no JSON object: {path}")
    return body


def weight_files(model: Path) -> list[Path]:
    """The ONNX file and the files beside it that hold its external tensors. Reads the whole ONNX file.

    Raises:
        Unavailable: a file is missing or unreadable.
        Internal: the ONNX file is damaged or points out of its directory.
    """
    try:
        graph = onnx.load(str(model), load_external_data=False).graph
    except OSError as exc:
        raise Unavailable(f"the embedder's weights cannot be read: {model}: {exc.strerror}") from exc
    except DecodeError as exc:
        raise Internal(f"the embedder's {model} is damaged or no ONNX file") from exc
    found = [model]
    for location in sorted(set(_external_locations(graph))):
        place = PurePosixPath(location)
        if place.is_absolute() or ".." in place.parts:
            raise Internal(f"the embedder's {model} has weights outside of its directory")
        found.append(find(model.parent, location))
    return found


def _external_locations(graph: onnx.GraphProto) -> Iterator[str]:
    attributes = [attribute for node in graph.node for attribute in node.attribute]
    tensors = [*graph.initializer, *(item.t for item in attributes if item.HasField("t"))]
    for tensor in tensors:
        if uses_external_data(tensor):
            yield from (entry.value for entry in tensor.external_data if entry.key == "location")
    for item in attributes:
        for nested in ([item.g] if item.HasField("g") else []) + list(item.graphs):
            yield from _external_locations(nested)
