"""Whatever bytes a server sends, they become checked values or an Internal error; requests stay small."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tritonclient.grpc import service_pb2

from inference_svc.triton_tensors import (
    MAX_REQUEST_BYTES,
    Answer,
    chunks,
    infer_request,
    integer_tensor,
    text_tensor,
)
from radref.errors import Internal

SHAPES = st.lists(st.integers(-3, 2**62), max_size=4)
DATATYPES = st.sampled_from(["FP32", "INT32", "BOOL", "BYTES", "FP16", ""])


def answer_of(datatype: str, shape: list[int], data: bytes) -> Answer:
    response = service_pb2.ModelInferResponse(raw_output_contents=[data])
    response.outputs.add(name="X", datatype=datatype, shape=shape)
    return Answer("test", response.SerializeToString())


@given(st.binary(max_size=200))
def test_any_bytes_are_an_answer_or_an_error(data: bytes) -> None:
    with pytest.raises(Internal) as caught:
        Answer("test", data).floats("X", (None,))
    assert caught.value.metadata == {"backend": "test"}


@given(DATATYPES, SHAPES, st.binary(max_size=64), st.integers(1, 4))
def test_any_output_is_read_or_refused(datatype: str, shape: list[int], data: bytes, lengths: int) -> None:
    answer = answer_of(datatype, shape, data)
    for read in (answer.floats, answer.integers, answer.flags, answer.texts):
        try:
            found = read("X", (None,) * lengths)
        except Internal:
            continue
        assert len(shape) == lengths
        assert np.size(found) == np.prod(shape, dtype=object)


@given(st.lists(st.text(max_size=20), max_size=20))
def test_texts_survive_the_way_there_and_back(values: list[str]) -> None:
    tensor = text_tensor("X", values)
    assert answer_of(tensor.datatype, list(tensor.shape), tensor.data).texts("X", (None, 1)) == values


@given(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=20))
def test_integers_survive_the_way_there_and_back(values: list[int]) -> None:
    tensor = integer_tensor("X", values)
    found = answer_of(tensor.datatype, list(tensor.shape), tensor.data).integers("X", (1, None))
    assert found.tolist() == [values]


@given(st.lists(st.integers(0, 2 * MAX_REQUEST_BYTES), max_size=200), st.integers(1, 64))
def test_chunks_partition_and_stay_small(sizes: list[int], rows: int) -> None:
    found = chunks(sizes, rows=rows)
    assert [index for chunk in found for index in chunk] == list(range(len(sizes)))
    for chunk in found:
        assert 1 <= len(chunk) <= rows
        assert len(chunk) == 1 or sum(sizes[index] for index in chunk) <= MAX_REQUEST_BYTES


def test_a_request_is_what_the_protocol_asks_for() -> None:
    request = infer_request("m", [text_tensor("T", ["да", "n"]), integer_tensor("S", [0, 2])], ["A", "B"])
    assert [(tensor.name, tensor.datatype, list(tensor.shape)) for tensor in request.inputs] == [
        ("T", "BYTES", [2, 1]),
        ("S", "INT32", [1, 2]),
    ]
    assert request.raw_input_contents[0] == struct.pack("<I", 4) + "да".encode() + struct.pack("<I", 1) + b"n"
    assert [output.name for output in request.outputs] == ["A", "B"]
    assert not request.parameters
    urgent = infer_request("m", [], [], priority=1)
    assert urgent.parameters["priority"].uint64_param == 1


def test_the_last_of_two_outputs_of_one_name_is_no_way_around_the_checks() -> None:
    response = service_pb2.ModelInferResponse(raw_output_contents=[b"\0" * 4, b"\0" * 3])
    for _ in range(2):
        response.outputs.add(name="X", datatype="FP32", shape=[1])
    with pytest.raises(Internal):
        Answer("test", response.SerializeToString()).floats("X", (1,))
