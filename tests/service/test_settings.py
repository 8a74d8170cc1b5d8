"""Settings: file, environment, precedence, and that misspelt keys are noticed."""

from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from radref.service.settings import ServiceSettings, SettingsError


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    candidates: int = Field(default=90, ge=1)


class SampleSettings(ServiceSettings, section="retrieval"):
    size: int = Field(default=3, ge=1, le=9)
    token: SecretStr = SecretStr("")
    inner: Inner = Field(default_factory=Inner)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_are_loopback() -> None:
    settings = SampleSettings.load()
    assert settings.listen_address == "127.0.0.1:7101"
    assert settings.admin_address == "127.0.0.1:7201"


def test_environment_wins_over_file_and_flags_over_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write(tmp_path / "radref.yaml", "retrieval:\n  size: 4\n  inner: {candidates: 50}\n")
    assert SampleSettings.load(config).size == 4
    monkeypatch.setenv("RADREF_RETRIEVAL_SIZE", "5")
    monkeypatch.setenv("RADREF_RETRIEVAL_INNER__CANDIDATES", "70")
    settings = SampleSettings.load(config, listen="0.0.0.0:1")
    assert (settings.size, settings.inner.candidates, settings.listen_address) == (5, 70, "0.0.0.0:1")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("retrieval: {sise: 4}", "retrieval.sise"),
        ("retrieval: {size: 99}", "retrieval.size"),
        ("retrieval: {inner: {candidate: 1}}", "retrieval.inner.candidate"),
        ("retreival: {size: 4}", "unknown section retreival"),
        ("retrieval: [1]", "must be a mapping"),
        ("a: b: c", "not valid YAML"),
    ],
)
def test_faults_in_the_file_are_named(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(SettingsError, match=fault):
        SampleSettings.load(write(tmp_path / "radref.yaml", text))


def test_unknown_variable_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RADREF_RETRIEVAL_SISE", "4")
    with pytest.raises(SettingsError, match="RADREF_RETRIEVAL_SISE"):
        SampleSettings.load()


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot read"):
        SampleSettings.load(tmp_path / "absent.yaml")


def test_fault_never_prints_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RADREF_RETRIEVAL_TOKEN", "hunter2")
    monkeypatch.setenv("RADREF_RETRIEVAL_SIZE", "100")
    with pytest.raises(SettingsError) as caught:
        SampleSettings.load()
    assert "hunter2" not in str(caught.value)


def test_masked_settings_hide_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RADREF_RETRIEVAL_TOKEN", "hunter2")
    masked = SampleSettings.load().masked()
    assert masked["token"] == "********"
    assert "hunter2" not in str(masked)
