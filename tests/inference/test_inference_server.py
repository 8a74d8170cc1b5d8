"""The composition root: settings in, a service that can answer out."""

from __future__ import annotations

from pathlib import Path

import pytest

from inference_svc.server import compose
from inference_svc.settings import EmbedderSettings, InferenceSettings
from radref.errors import Unavailable
from radref.service.settings import SettingsError


async def test_the_composed_service_is_ready_after_one_real_request(
    tmp_path: Path, tiny_weights: Path
) -> None:
    app = await compose(
        InferenceSettings(embedder=EmbedderSettings(cache_dir=tmp_path, weights_path=tiny_weights, threads=1))
    )
    (component,) = app.components
    await component.check()
    for close in app.closers:
        await close()
    with pytest.raises(Unavailable):
        await component.check()


async def test_a_start_without_weights_says_what_is_missing(tmp_path: Path) -> None:
    settings = InferenceSettings(
        embedder=EmbedderSettings(cache_dir=tmp_path, weights_path=tmp_path / "none.bin")
    )
    with pytest.raises(Unavailable, match=r"weights cannot be read: .*none\.bin"):
        await compose(settings)


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RADREF_INFERENCE_EMBEDDER__THREADS", "3")
    assert InferenceSettings.load().embedder.threads == 3


@pytest.mark.parametrize(
    ("name", "value"), [("EMBEDDER__THREDS", "3"), ("EMBEDDER__THREADS", "-1"), ("GENERATOR__BACKEND", "gpt")]
)
def test_settings_that_mean_nothing_are_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"RADREF_INFERENCE_{name}", value)
    with pytest.raises(SettingsError):
        InferenceSettings.load()
