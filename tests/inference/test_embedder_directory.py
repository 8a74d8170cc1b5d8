"""A published ONNX export in a directory: small real models in the same layout."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from inference_svc.embedders.embedder import SpannedText
from inference_svc.embedders.onnx_e5.directory import load_directory
from inference_svc.embedders.onnx_e5.embedder import MODEL_ID, OnnxE5Embedder
from inference_svc.embedders.onnx_e5.model import E5Model
from radref.errors import Internal, RadrefError, Unavailable
from tests.inference.conftest import lanes

HIDDEN, WINDOW = 16, 64
SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
LETTERS = sorted(set("query: passage: Доза при КТ грудной клетки 7 мЗв; chest radiograph <s>/abc.йё") - {" "})
PIECES = (*SPECIALS, "▁", *LETTERS, "<mask>")


def write_tokenizer(path: Path, **changes: Any) -> None:
    """As XLM-RoBERTa publishes it: special pieces score best, and a truncation that must not count."""
    scores = [0.0] * 4 + [-2.0 - 0.1 * i for i in range(len(PIECES) - 5)] + [0.0]
    tokenizer = Tokenizer(models.Unigram(list(zip(PIECES, scores, strict=True)), 3))
    tokenizer.normalizer = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")]
    )
    tokenizer.add_special_tokens([*SPECIALS, AddedToken("<mask>", lstrip=True)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(pad_id=1, pad_token="<pad>")
    body = json.loads(tokenizer.to_str())
    path.write_text(json.dumps({**body, **changes}), encoding="utf-8")


def write_model(
    path: Path,
    *,
    token_types: bool = False,
    integer: int = TensorProto.INT64,
    rows: int = len(PIECES),
    positions: int = WINDOW,
    masked: bool = True,
    rename: dict[str, str] | None = None,
    pooled: bool = False,
    scale: float = 1.0,
    external: str = "",
    seed: int = 0,
) -> None:
    """Word and position table, plus the mean over the unmasked tokens as a stand-in for attention."""
    rng = np.random.default_rng(seed)
    tables = {
        "words": scale * rng.standard_normal((rows, HIDDEN)),
        "positions": 0.1 * rng.standard_normal((positions, HIDDEN)),
        "types": rng.standard_normal((2, HIDDEN)),
    }
    initializers = [numpy_helper.from_array(t.astype(np.float32), n) for n, t in tables.items()]
    for name, value in (("zero", 0), ("one", 1), ("axes", 2), ("tokens_axis", 1)):
        initializers.append(numpy_helper.from_array(np.array([value], np.int64), name))
    nodes = [
        helper.make_node("Gather", ["words", "input_ids"], ["word"]),
        helper.make_node("Shape", ["input_ids"], ["length"], start=1, end=2),
        helper.make_node("Squeeze", ["length"], ["scalar_length"]),
        helper.make_node("Squeeze", ["zero"], ["scalar_zero"]),
        helper.make_node("Squeeze", ["one"], ["scalar_one"]),
        helper.make_node("Range", ["scalar_zero", "scalar_length", "scalar_one"], ["places"]),
        helper.make_node("Gather", ["positions", "places"], ["position"]),
        helper.make_node("Add", ["word", "position"], ["summed"]),
        helper.make_node("Cast", ["attention_mask"], ["float_mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["float_mask", "axes"], ["column"]),
        helper.make_node("Mul", ["summed", "column"], ["kept"]),
        helper.make_node("ReduceSum", ["kept" if masked else "summed", "tokens_axis"], ["total"]),
        helper.make_node("Add", ["summed", "total"], ["mixed"]),
    ]
    names = ["input_ids", "attention_mask"]
    result = "mixed"
    if token_types:
        names.append("token_type_ids")
        nodes += [
            helper.make_node("Gather", ["types", "token_type_ids"], ["typed"]),
            helper.make_node("Add", ["mixed", "typed"], ["with_types"]),
        ]
        result = "with_types"
    if pooled:
        nodes.append(
            helper.make_node("ReduceMean", [result, "tokens_axis"], ["last_hidden_state"], keepdims=0)
        )
    else:
        nodes.append(helper.make_node("Identity", [result], ["last_hidden_state"]))
    shape: list[Any] = ["batch", HIDDEN] if pooled else ["batch", "tokens", HIDDEN]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, integer, ["batch", "tokens"]) for name in names],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, shape)],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 10
    for old, new in (rename or {}).items():
        for item in (*model.graph.input, *model.graph.output):
            item.name = new if item.name == old else item.name
        for node in model.graph.node:
            node.input[:] = [new if name == old else name for name in node.input]
            node.output[:] = [new if name == old else name for name in node.output]
    path.parent.mkdir(parents=True, exist_ok=True)
    extra = {"save_as_external_data": True, "location": external, "size_threshold": 512} if external else {}
    onnx.save(model, str(path), **extra)


def write_config(path: Path, **changes: Any) -> None:
    body = {"model_type": "bert", "hidden_size": HIDDEN, "max_position_embeddings": WINDOW, "pad_token_id": 0}
    path.write_text(json.dumps({**body, **changes}))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    write_model(made / "onnx" / "model.onnx")
    write_tokenizer(made / "tokenizer.json")
    write_config(made / "config.json")
    return made


def load(directory: Path) -> E5Model:
    return load_directory(directory, threads=1, spinning=False)


def embedder(directory: Path, cache: Path) -> OnnxE5Embedder:
    return OnnxE5Embedder.load(
        cache,
        None,
        model_dir=directory,
        threads=1,
        spinning=False,
        batch_tokens=128,
        lanes=lanes(),
    )


TEXTS = ("доза при кт", "chest radiograph", "a <s> b", "доза " * 60)


@pytest.mark.parametrize("integer", [TensorProto.INT64, TensorProto.INT32])
@pytest.mark.parametrize("token_types", [False, True])
async def test_vectors_are_the_plain_means(
    directory: Path, tmp_path: Path, token_types: bool, integer: int
) -> None:
    write_model(directory / "onnx" / "model.onnx", token_types=token_types, integer=integer)
    cache = tmp_path / "cache"
    made = embedder(directory, cache)
    found = await made.embed_documents(TEXTS)
    assert not cache.exists()
    session = ReferenceEvaluator(str(directory / "onnx" / "model.onnx"))
    number = np.int64 if integer == TensorProto.INT64 else np.int32
    for text, vector in zip(TEXTS, found.vectors, strict=True):
        pieces = [
            PIECES.index(c) if c in PIECES else 3 for c in "▁" + f"passage: {text}".strip().replace(" ", "▁")
        ]
        ids = np.array([[0, *pieces[: WINDOW - 2], 2]], number)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        if token_types:
            feed["token_type_ids"] = np.zeros_like(ids)
        mean = session.run(["last_hidden_state"], feed)[0][0].mean(axis=0)
        assert float(vector @ mean) / np.linalg.norm(mean) > 0.99999
    assert list(found.truncated) == [False, False, False, True]
    assert found.token_counts[3] > WINDOW
    description = made.description
    assert (description.id, description.backend) == (MODEL_ID, "onnx")
    assert (description.dimension, description.window) == (HIDDEN, WINDOW)
    assert len(bytes.fromhex(description.fingerprint)) == len(bytes.fromhex(description.tokenizer)) == 8
    (late,) = (await made.embed_spans([SpannedText("доза " * 60, [(0, 4), (100, 200), (295, 299)])])).texts
    assert late.vectors.shape == (3, HIDDEN)
    (counted,) = await made.tokenize(["a <s> b"], want_offsets=True)
    assert counted.offsets is not None
    assert counted.count == len(counted.offsets)
    await made.close()


@pytest.mark.parametrize("name", [*SPECIALS, "<mask>"])
def test_a_literal_special_token_is_only_characters(directory: Path, name: str) -> None:
    model = load(directory)
    for text in (name, f"a {name} b", f"a{name}b"):
        (ids,) = model.tokenizer.ids("", [text])
        assert not set(ids.tolist()) & {0, 1, 2, PIECES.index("<mask>")}
        assert len(ids) >= len(text.replace(" ", ""))


def test_the_small_files_may_lie_beside_the_model(directory: Path) -> None:
    known = load(directory)
    for name in ("tokenizer.json", "config.json"):
        shutil.move(directory / name, directory / "onnx" / name)
    assert load(directory).fingerprint == known.fingerprint
    assert load(directory / "onnx").fingerprint == known.fingerprint


def test_the_fingerprint_follows_the_content_and_nothing_else(directory: Path, tmp_path: Path) -> None:
    known = load(directory)
    copy = tmp_path / "elsewhere"
    shutil.copytree(directory, copy)
    (copy / "README.md").write_text("about")
    assert load(copy).fingerprint == known.fingerprint

    write_model(copy / "onnx" / "model.onnx", seed=1)
    other_weights = load(copy)
    assert other_weights.fingerprint != known.fingerprint
    assert other_weights.tokenizer_fingerprint == known.tokenizer_fingerprint

    tokenizer_without("<mask>")(directory)
    assert load(directory).fingerprint != known.fingerprint
    assert load(directory).tokenizer_fingerprint != known.tokenizer_fingerprint


def test_external_weights_are_part_of_the_fingerprint(directory: Path) -> None:
    path = directory / "onnx" / "model.onnx"
    path.unlink()
    write_model(path, external="weights.bin")
    first = load(directory).fingerprint
    data = directory / "onnx" / "weights.bin"
    values = np.frombuffer(data.read_bytes(), np.float32).copy()
    values[5] += 1
    data.write_bytes(values.tobytes())
    assert load(directory).fingerprint != first
    data.unlink()
    with pytest.raises(Unavailable, match=r"weights\.bin"):
        load(directory)


@pytest.mark.parametrize(
    ("config", "tokenizer_config", "window"),
    [
        ({}, None, WINDOW),
        ({"max_position_embeddings": 50}, None, 50),
        ({"model_type": "xlm-roberta", "pad_token_id": 1}, None, WINDOW - 2),
        ({}, {"model_max_length": 48}, 48),
        ({}, {"model_max_length": 1_000}, WINDOW),
        ({}, {"model_max_length": 1e30}, WINDOW),
        ({}, {"model_max_length": None}, WINDOW),
    ],
)
def test_the_window_is_what_model_and_tokenizer_allow(
    directory: Path, config: dict[str, Any], tokenizer_config: dict[str, Any] | None, window: int
) -> None:
    write_config(directory / "config.json", **config)
    if tokenizer_config is not None:
        (directory / "tokenizer_config.json").write_text(json.dumps(tokenizer_config))
    assert load(directory).window == window


def test_a_configuration_without_positions_means_512(directory: Path) -> None:
    (directory / "config.json").write_text("{}")
    write_model(directory / "onnx" / "model.onnx", positions=512)
    assert load(directory).window == 512


@pytest.mark.parametrize("name", ["onnx/model.onnx", "tokenizer.json", "config.json"])
def test_a_missing_file_is_named(directory: Path, name: str) -> None:
    (directory / name).unlink()
    with pytest.raises(Unavailable, match=name.replace(".", r"\.")):
        load(directory)


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="does not exist"):
        load(tmp_path / "none")


@pytest.mark.parametrize("name", ["onnx/model.onnx", "tokenizer.json", "config.json"])
@pytest.mark.parametrize("content", [b"", b"{", b"[1, 2]", b"\xff\xfe garbage \x00" * 50])
def test_a_damaged_file_is_named(directory: Path, name: str, content: bytes) -> None:
    (directory / name).write_bytes(content)
    with pytest.raises(Internal, match=Path(name).name.replace(".", r"\.")):
        load(directory)


def xlm_with_another_pad(directory: Path) -> None:
    write_config(directory / "config.json", model_type="xlm-roberta", pad_token_id=5)


def tokenizer_without(*names: str) -> Callable[[Path], None]:
    def change(directory: Path) -> None:
        path = directory / "tokenizer.json"
        body = json.loads(path.read_text())
        body["added_tokens"] = [token for token in body["added_tokens"] if token["content"] not in names]
        body["model"]["vocab"] = [
            [f"#{number}" if piece in names else piece, score]
            for number, (piece, score) in enumerate(body["model"]["vocab"])
        ]
        path.write_text(json.dumps(body))

    return change


def tokenizer_over_the_whole_text(directory: Path) -> None:
    write_tokenizer(directory / "tokenizer.json", pre_tokenizer=None)


def tokenizer_with_pieces_over_words(directory: Path) -> None:
    path = directory / "tokenizer.json"
    write_tokenizer(path, pre_tokenizer=None)
    body = json.loads(path.read_text())
    body["normalizer"] = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    body["model"]["vocab"].append([":▁", -0.1])
    path.write_text(json.dumps(body))


def model_with(**changes: Any) -> Callable[[Path], None]:
    return lambda directory: write_model(directory / "onnx" / "model.onnx", **changes)


def config_with(**changes: Any) -> Callable[[Path], None]:
    return lambda directory: write_config(directory / "config.json", **changes)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (model_with(rename={"input_ids": "ids"}), "inputs are attention_mask, ids"),
        (model_with(rename={"attention_mask": "mask"}), "inputs are input_ids, mask"),
        (model_with(rename={"last_hidden_state": "logits"}), "outputs are logits"),
        (model_with(token_types=True, rename={"token_type_ids": "position_ids"}), "position_ids"),
        (model_with(pooled=True), "2 dimensions"),
        (model_with(rows=len(PIECES) - 1), "vocabulary"),
        (model_with(positions=WINDOW - 1), "positions"),
        (model_with(masked=False), "attention mask"),
        (model_with(scale=np.nan), "not finite"),
        (config_with(hidden_size=HIDDEN + 1), "config.json promises"),
        (config_with(max_position_embeddings=20), "window of 20 tokens is too short"),
        (config_with(max_position_embeddings=-1), "max_position_embeddings"),
        (config_with(max_position_embeddings="512"), "max_position_embeddings"),
        (xlm_with_another_pad, "disagree on the padding"),
        (tokenizer_without("<s>"), "has no <s>"),
        (tokenizer_without("</s>"), "has no </s>"),
        (tokenizer_without("<s>", "</s>"), "has no <s> and no </s>"),
        (tokenizer_over_the_whole_text, "reads a literal <s> as a special token"),
        (tokenizer_with_pieces_over_words, "prefixes cannot be told apart"),
    ],
)
def test_files_that_make_no_model_are_refused_with_the_cause(
    directory: Path, change: Callable[[Path], None], says: str
) -> None:
    change(directory)
    with pytest.raises(RadrefError, match=says) as caught:
        load(directory)
    assert isinstance(caught.value, Internal)


def test_a_padding_that_only_the_configuration_names(directory: Path) -> None:
    tokenizer_without("<pad>")(directory)
    assert load(directory).dimension == HIDDEN
    write_config(directory / "config.json", pad_token_id=None)
    with pytest.raises(Internal, match="<pad>"):
        load(directory)


def test_two_sources_are_one_too_many(directory: Path, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="set one"):
        OnnxE5Embedder.load(
            tmp_path,
            tmp_path / "weights.bin",
            model_dir=directory,
            threads=1,
            spinning=False,
            batch_tokens=128,
            lanes=lanes(),
        )
