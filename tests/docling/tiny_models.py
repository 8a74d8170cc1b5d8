"""Models of the architectures that Docling's PDF pipeline loads, tiny and with random weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from docling_ibm_models.tableformer.models.table04_rs.tablemodel04_rs import TableModel04_rs
from safetensors.torch import save_model
from transformers import RTDetrImageProcessor, RTDetrResNetConfig, RTDetrV2Config, RTDetrV2ForObjectDetection

from ingest_svc.parsing.docling.artifacts import LAYOUT_FOLDER, TABLE_FOLDER

# The labels of docling-layout-heron, in the spelling that the pipeline looks up.
LABELS = (
    *("caption", "footnote", "formula", "list_item", "page_footer", "page_header", "picture"),
    *("section_header", "table", "text", "title", "document_index", "code", "checkbox_selected"),
    *("checkbox_unselected", "form", "key_value_region"),
)
_TAGS = (
    "<pad>",
    "<unk>",
    "<start>",
    "<end>",
    "ecel",
    "fcel",
    "lcel",
    "ucel",
    "xcel",
    "nl",
    "ched",
    "rhed",
    "srow",
)
_IMAGE = 64


def write_artifacts(folder: Path, seen: str = "") -> Path:
    """A folder as `artifacts_dir` wants it.

    Args:
        folder: made where it does not exist.
        seen: label that the layout model finds once on every page, in the upper left quarter and around it;
            "" = it finds nothing, so that the pipeline goes by the text lines alone.
    """
    _write_layout(folder / LAYOUT_FOLDER, seen)
    _write_tables(folder / TABLE_FOLDER)
    return folder


def _write_layout(folder: Path, seen: str) -> None:
    torch.manual_seed(0)
    backbone = RTDetrResNetConfig(
        embedding_size=8, hidden_sizes=[8, 8, 8, 8], depths=[1, 1, 1, 1], layer_type="basic",
        out_features=["stage2", "stage3", "stage4"],
    )  # fmt: skip
    config = RTDetrV2Config(
        backbone_config=backbone, d_model=16, encoder_hidden_dim=16, encoder_in_channels=[8, 8, 8],
        encoder_ffn_dim=16, encoder_attention_heads=2, decoder_attention_heads=2, decoder_ffn_dim=16,
        decoder_in_channels=[16, 16, 16], decoder_layers=2, encoder_layers=1, num_queries=1, num_denoising=0,
        id2label=dict(enumerate(LABELS)), label2id={name: at for at, name in enumerate(LABELS)},
    )  # fmt: skip
    model = RTDetrV2ForObjectDetection(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "class_embed" in name or "enc_score_head" in name:
                parameter.fill_(-10.0 if name.endswith("bias") else 0.0)
                if seen and name.endswith("bias"):
                    parameter[LABELS.index(seen)] = 5.0
            elif ("bbox_embed" in name or "enc_bbox_head" in name) and ".layers.2." in name:
                # Centre where the anchor is, width and height of the whole page.
                parameter.copy_(
                    torch.tensor([0.0, 0.0, 20.0, 20.0])
                    if name.endswith("bias")
                    else torch.zeros_like(parameter)
                )
    model.save_pretrained(folder)
    RTDetrImageProcessor(size={"height": _IMAGE, "width": _IMAGE}).save_pretrained(folder)


def _write_tables(folder: Path) -> None:
    torch.manual_seed(0)
    folder.mkdir(parents=True)
    config: dict[str, Any] = {
        "dataset": {
            "name": "tiny",
            "resized_image": _IMAGE,
            "image_normalization": {"state": True, "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]},
        },
        "model": {
            "type": "TableModel04_rs",
            "name": "tiny",
            "save_dir": "",
            # The sizes that the code fixes; the real model differs in layers and heads.
            "hidden_dim": 512,
            "enc_image_size": 4,
            "tag_attention_dim": 16,
            "tag_embed_dim": 16,
            "tag_decoder_dim": 512,
            "bbox_attention_dim": 16,
            "bbox_embed_dim": 16,
            "bbox_classes": 2,
            "enc_layers": 1,
            "dec_layers": 1,
            "nheads": 2,
            "dropout": 0.0,
        },
        "train": {"bbox": True},
        "predict": {"max_steps": 12, "beam_size": 1, "bbox": True, "pdf_cell_iou_thres": 0.05},
        "dataset_wordmap": {
            "word_map_tag": {tag: at for at, tag in enumerate(_TAGS)},
            "word_map_cell": {"<pad>": 0, "<unk>": 1, "<start>": 2, "<end>": 3},
        },
    }
    (folder / "tm_config.json").write_text(json.dumps(config), encoding="utf-8")
    model = TableModel04_rs(config, {"word_map": config["dataset_wordmap"]}, "cpu")
    save_model(model, str(folder / "tableformer_accurate.safetensors"))
