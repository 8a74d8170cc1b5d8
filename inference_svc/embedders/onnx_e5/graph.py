"""Builds the encoder as an ONNX model: fp32 layers, 4-bit word table.

Inputs `input_ids` and `attention_mask`, both (batch, tokens); output `last_hidden_state`
(batch, tokens, hidden) float32. The layers are those of BERT (Devlin et al. 2019) with post-layer-norm
and exact GELU, as multilingual-e5-small has them; positions count from 0 and the token type is always 0.
The fused operators of onnxruntime's `com.microsoft` domain are written out here, so that speed does not
hang on its pattern matcher.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from inference_svc.embedders.onnx_e5.weights import BLOCK, E5Weights, Quantized

OPSET = 21  # the first with INT4
IR_VERSION = 10  # the one of opset 21; a newer default of the onnx package may be unknown to onnxruntime
CONTRIB = "com.microsoft"


class _Graph:
    """Nodes and initializers in the making."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def constant(self, name: str, values: NDArray[np.generic]) -> str:
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def add(self, operator: str, inputs: list[str], output: str, domain: str = "", **attributes: Any) -> str:
        self.nodes.append(
            helper.make_node(operator, inputs, [output], name=output, domain=domain, **attributes)
        )
        return output


def build_encoder(weights: E5Weights) -> onnx.ModelProto:
    """The whole encoder with its weights inside, about 145 MB.

    Raises:
        Internal: the weight file lacks a tensor.
    """
    graph = _Graph()
    hidden = _embeddings(graph, weights)
    for layer in range(weights.shape.layers):
        hidden = _layer(graph, weights, layer, hidden)
    graph.add("Identity", [hidden], "last_hidden_state")
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "multilingual-e5-small",
            [
                helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"]),
                helper.make_tensor_value_info("attention_mask", TensorProto.INT32, ["batch", "tokens"]),
            ],
            [
                helper.make_tensor_value_info(
                    "last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", weights.shape.hidden]
                )
            ],
            graph.initializers,
        ),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)],
        producer_name="radref",
    )
    model.ir_version = IR_VERSION
    return model


def _embeddings(graph: _Graph, weights: E5Weights) -> str:
    shape = weights.shape
    table = weights.quantized("emb.word", shape.hidden)
    graph.initializers.append(_int4("emb.word.q4", table))
    graph.constant("emb.word.scales", table.scales)
    words = graph.add(
        "GatherBlockQuantized",
        ["emb.word.q4", "input_ids", "emb.word.scales"],
        "emb.words",
        CONTRIB,
        block_size=BLOCK,
        gather_axis=0,
        quantize_axis=1,
    )
    # The token type is always 0, so its row is folded into the positions.
    positions = weights.floats("emb.pos").reshape(shape.positions, shape.hidden)
    graph.constant("emb.positions.all", (positions + weights.floats("emb.type")[: shape.hidden])[None])
    graph.add("Shape", ["input_ids"], "tokens", start=1, end=2)
    for name, value in (("zero", 0), ("axis1", 1)):
        graph.constant(name, np.array([value], np.int64))
    graph.add("Slice", ["emb.positions.all", "zero", "tokens", "axis1"], "emb.positions")
    graph.add("Add", [words, "emb.positions"], "emb.sum")
    graph.constant("emb.ln.w", weights.floats("emb.ln.w"))
    graph.constant("emb.ln.b", weights.floats("emb.ln.b"))
    return graph.add(
        "LayerNormalization", ["emb.sum", "emb.ln.w", "emb.ln.b"], "emb", axis=-1, epsilon=shape.epsilon
    )


def _layer(graph: _Graph, weights: E5Weights, layer: int, hidden: str) -> str:
    shape, prefix = weights.shape, f"l{layer}."

    def matrix(name: str, columns: int) -> NDArray[np.float32]:
        # The file holds (outputs, inputs); MatMul wants (inputs, outputs).
        return weights.quantized(f"{prefix}{name}.w", columns).dequantized().T

    def bias(name: str) -> str:
        return graph.constant(f"{prefix}{name}.b", weights.floats(f"{prefix}{name}.b"))

    graph.constant(f"{prefix}qkv.w", np.concatenate([matrix(name, shape.hidden) for name in "qkv"], axis=1))
    graph.constant(f"{prefix}qkv.b", np.concatenate([weights.floats(f"{prefix}{name}.b") for name in "qkv"]))
    attention = graph.add(
        "Attention",
        [hidden, f"{prefix}qkv.w", f"{prefix}qkv.b", "attention_mask"],
        f"{prefix}attention",
        CONTRIB,
        num_heads=shape.heads,
    )
    graph.constant(f"{prefix}ao.w", matrix("ao", shape.hidden))
    graph.add("MatMul", [attention, f"{prefix}ao.w"], f"{prefix}ao")
    hidden = _skip_norm(graph, weights, f"{prefix}ao", hidden, bias("ao"), f"{prefix}aln")

    graph.constant(f"{prefix}fi.w", matrix("fi", shape.hidden))
    graph.add("MatMul", [hidden, f"{prefix}fi.w"], f"{prefix}fi")
    gelu = graph.add("BiasGelu", [f"{prefix}fi", bias("fi")], f"{prefix}gelu", CONTRIB)
    graph.constant(f"{prefix}fo.w", matrix("fo", shape.intermediate))
    graph.add("MatMul", [gelu, f"{prefix}fo.w"], f"{prefix}fo")
    return _skip_norm(graph, weights, f"{prefix}fo", hidden, bias("fo"), f"{prefix}oln")


def _skip_norm(graph: _Graph, weights: E5Weights, value: str, skip: str, bias: str, name: str) -> str:
    """LayerNorm(value + bias + skip)."""
    for part in ("w", "b"):
        graph.constant(f"{name}.{part}", weights.floats(f"{name}.{part}"))
    return graph.add(
        "SkipLayerNormalization",
        [value, skip, f"{name}.w", f"{name}.b", bias],
        name,
        CONTRIB,
        epsilon=weights.shape.epsilon,
    )


def _int4(name: str, table: Quantized) -> onnx.TensorProto:
    """The nibbles as signed INT4 without zero point: flipping the top bit of a nibble subtracts 8."""
    signed = (table.nibbles ^ 8).reshape(-1, 2)
    packed = signed[:, 0] | signed[:, 1] << 4  # ONNX puts the first value into the low half
    tensor = onnx.TensorProto(name=name, data_type=TensorProto.INT4, dims=table.nibbles.shape)
    tensor.raw_data = packed.astype(np.uint8).tobytes()
    return tensor
