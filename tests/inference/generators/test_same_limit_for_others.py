"""The same limit stands for several groups: the words are the same, the numbers are not."""

import json

import numpy as np

from inference_svc.generators.extractive.generator import ExtractiveGenerator
from inference_svc.generators.extractive.places import Embedding
from inference_svc.generators.generator import Grounding

TEXT = """# Dose limits

## Workers

The following limits apply to workers:

- effective dose: 14 mSv in a year;
- equivalent dose to the lens of the eye: 11 mSv in a year.

## Apprentices

The following limits apply to apprentices:

- effective dose: 4 mSv in a year;
- equivalent dose to the lens of the eye: 9 mSv in a year.
"""


async def test_every_group_is_shown() -> None:
    async def query(text: str) -> np.ndarray:
        return np.array([1.0, 0.0], dtype=np.float32)

    async def texts(items: list[str]) -> np.ndarray:
        return np.tile(np.array([1.0, 0.0], dtype=np.float32), (len(items), 1))

    generator = ExtractiveGenerator(Embedding(query, texts))
    source = Grounding("0" * 20, "Dose limits", ("Dose limits",), TEXT, ())
    answer = json.loads(await generator.generate("What is the dose limit for the lens of the eye?", [source]))
    shown = " ".join(statement["text"] for statement in answer["statements"])
    assert "11 mSv" in shown
    assert "9 mSv" in shown
