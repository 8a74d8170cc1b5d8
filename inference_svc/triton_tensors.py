"""Tensors of the KServe v2 inference protocol: values to requests, answers to values that were checked.

https://github.com/kserve/open-inference-protocol (grpc_predict_v2.proto): a tensor is a name, a datatype, a
shape and little-endian bytes in row-major order; an element of BYTES is preceded by its length in 4 bytes.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray
from tritonclient.grpc import service_pb2

from radref.errors import Internal, InvalidInput

# One request stays well below the 64 MiB of a message, and so does its answer: offsets take 8 bytes a token,
# and a token is at least one byte of its text.
MAX_REQUEST_BYTES = 4 * 1024 * 1024
_LENGTH = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input of a request; `data` as the protocol lays it out."""

    name: str
    datatype: str
    shape: tuple[int, ...]
    data: bytes


def text_tensor(name: str, values: Sequence[str], *, column: bool = True) -> Tensor:
    """A BYTES tensor in UTF-8: shape (n, 1) for models that batch, (n,) without `column`.

    Raises:
        InvalidInput: UNDECODABLE_TEXT where a value holds a lone surrogate, which is no text.
    """
    try:
        encoded = [value.encode("utf-8") for value in values]
    except UnicodeEncodeError:
        raise InvalidInput("a text is not valid Unicode", reason="UNDECODABLE_TEXT") from None
    data = b"".join(part for value in encoded for part in (_LENGTH.pack(len(value)), value))
    return Tensor(name, "BYTES", (len(values), 1) if column else (len(values),), data)


def integer_tensor(name: str, values: Sequence[int]) -> Tensor:
    """An INT32 tensor of shape (1, n): one row of a batch."""
    return Tensor(name, "INT32", (1, len(values)), np.asarray(values, "<i4").tobytes())


def flag_tensor(name: str, value: bool) -> Tensor:
    """A BOOL tensor of shape (1,)."""
    return Tensor(name, "BOOL", (1,), bytes([value]))


def infer_request(
    model: str, inputs: Sequence[Tensor], outputs: Sequence[str], *, priority: int = 0
) -> service_pb2.ModelInferRequest:
    """A request for the named outputs.

    Args:
        priority: 1 goes before 2; 0 = the model's default.
    """
    request = service_pb2.ModelInferRequest(model_name=model)
    for tensor in inputs:
        request.inputs.add(name=tensor.name, datatype=tensor.datatype, shape=tensor.shape)
        request.raw_input_contents.append(tensor.data)
    for name in outputs:
        request.outputs.add(name=name)
    if priority:
        request.parameters["priority"].uint64_param = priority
    return request


def chunks(sizes: Sequence[int], *, rows: int) -> list[range]:
    """Neighbours to send together: at most `rows` of them and 4 MiB, though one alone may be larger.

    Args:
        sizes: bytes of each.
        rows: >= 1.
    """
    found: list[range] = []
    start, total = 0, 0
    for index, size in enumerate(sizes):
        if index > start and (index - start == rows or total + size > MAX_REQUEST_BYTES):
            found.append(range(start, index))
            start, total = index, 0
        total += size
    if start < len(sizes):
        found.append(range(start, len(sizes)))
    return found


class Answer:
    """The outputs of one answer, each checked when it is read.

    Every method raises Internal where the output is missing, of another type or shape, or its bytes do not
    hold what they should. `shape` holds the expected lengths, None where any is good.

    Args:
        backend: names the backend in errors, e.g. "embedding".
        serialized: a ModelInferResponse.

    Raises:
        Internal: it is none.
    """

    def __init__(self, backend: str, serialized: bytes) -> None:
        self._backend = backend
        try:
            response = service_pb2.ModelInferResponse.FromString(serialized)
        except DecodeError:
            raise self.nonsense("no message of the protocol") from None
        if len(response.outputs) != len(response.raw_output_contents):
            raise self.nonsense("outputs without contents")
        self._outputs = {
            output.name: (output.datatype, tuple(output.shape), data)
            for output, data in zip(response.outputs, response.raw_output_contents, strict=True)
        }

    def nonsense(self, what: str) -> Internal:
        """The error for an answer that cannot be used; `what` says why and quotes no text."""
        return Internal(
            f"the {self._backend} backend answered something that is no answer: {what}",
            metadata={"backend": self._backend},
        )

    def floats(self, name: str, shape: tuple[int | None, ...]) -> NDArray[np.float32]:
        return self._numbers(name, "FP32", np.dtype("<f4"), shape).astype(np.float32, copy=False)

    def integers(self, name: str, shape: tuple[int | None, ...]) -> NDArray[np.int64]:
        return self._numbers(name, "INT32", np.dtype("<i4"), shape).astype(np.int64)

    def flags(self, name: str, shape: tuple[int | None, ...]) -> NDArray[np.bool_]:
        values = self._numbers(name, "BOOL", np.dtype("u1"), shape)
        if values.size and values.max() > 1:
            raise self.nonsense(f"{name} holds more than true and false")
        return values.astype(np.bool_)

    def texts(self, name: str, shape: tuple[int | None, ...]) -> list[str]:
        """The elements in row-major order."""
        found_shape, data = self._output(name, "BYTES", shape)
        found, position = [], 0
        # A length that lies beyond the data ends this early, so a huge shape costs nothing.
        for _ in range(math.prod(found_shape)):
            start = position + _LENGTH.size
            if start > len(data):
                raise self.nonsense(f"{name} is cut short")
            position = start + _LENGTH.unpack_from(data, position)[0]
            if position > len(data):
                raise self.nonsense(f"{name} is cut short")
            try:
                found.append(data[start:position].decode("utf-8"))
            except UnicodeDecodeError:
                raise self.nonsense(f"{name} is no text") from None
        if position != len(data):
            raise self.nonsense(f"{name} holds more than its shape says")
        return found

    def _numbers(
        self, name: str, datatype: str, dtype: np.dtype[np.generic], shape: tuple[int | None, ...]
    ) -> NDArray[np.generic]:
        found_shape, data = self._output(name, datatype, shape)
        if math.prod(found_shape) * dtype.itemsize != len(data):
            raise self.nonsense(f"{name} holds more or fewer bytes than its shape says")
        return np.frombuffer(data, dtype).reshape(found_shape)

    def _output(
        self, name: str, datatype: str, shape: tuple[int | None, ...]
    ) -> tuple[tuple[int, ...], bytes]:
        if name not in self._outputs:
            raise self.nonsense(f"{name} is missing")
        found_type, found_shape, data = self._outputs[name]
        if found_type != datatype:
            raise self.nonsense(f"{name} is of another type than {datatype}")
        fits = len(found_shape) == len(shape) and all(
            length >= 0 and expected in (None, length)
            for length, expected in zip(found_shape, shape, strict=True)
        )
        if not fits:
            expected = ", ".join("any" if length is None else str(length) for length in shape)
            raise self.nonsense(
                f"{name} has the shape [{', '.join(map(str, found_shape))}], expected [{expected}]"
            )
        return found_shape, data
