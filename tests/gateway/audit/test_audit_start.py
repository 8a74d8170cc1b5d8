"""The gateway's start: settings, key, database, restart; as `compose` does it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.server import compose
from gateway.settings import GatewaySettings
from radref.errors import PreconditionFailed
from radref.service.runtime import App
from radref.service.settings import SettingsError
from tests.gateway.audit.audit_kit import KEY


@asynccontextmanager
async def composed(settings: GatewaySettings) -> AsyncIterator[App]:
    app = await compose(settings)
    try:
        yield app
    finally:
        for close in app.closers:
            await close()


async def check(app: App) -> None:
    (audit,) = [component for component in app.components if component.name == "audit"]
    await audit.check()


async def test_a_restart_keeps_the_key_and_the_folder_is_private(tmp_path: Path) -> None:
    settings = GatewaySettings(data_dir=tmp_path / "gateway")
    keys = []
    for _ in range(2):
        async with composed(settings) as app:
            await check(app)
        keys.append((tmp_path / "gateway" / "audit.key").read_bytes())
    assert keys[0] == keys[1]
    assert (tmp_path / "gateway").stat().st_mode & 0o777 == 0o700


async def test_an_open_key_file_keeps_the_gateway_from_starting(tmp_path: Path) -> None:
    key = tmp_path / "site.key"
    key.write_bytes(KEY)
    key.chmod(0o644)
    settings = GatewaySettings(data_dir=tmp_path / "data", audit={"hash_key_file": key})
    with pytest.raises(PreconditionFailed, match="chmod 600"):
        await compose(settings)


@pytest.mark.parametrize("required", [True, False])
async def test_a_database_that_is_away_at_the_start(tmp_path: Path, required: bool) -> None:
    key = tmp_path / "site.key"
    key.write_bytes(KEY)
    key.chmod(0o600)
    audit = {
        "url": "postgresql://u:hidden@127.0.0.1:1/radref",
        "hash_key_file": key,
        "required": required,
    }
    async with composed(GatewaySettings(data_dir=tmp_path / "data", audit=audit)) as app:
        # Ready only with it, where answers depend on it.
        assert ("audit" in [component.name for component in app.components]) is required
    # Nothing is kept there, so it need not be writable.
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("variables", "fault"),
    [
        ({"AUDIT__URL": "postgresql://u:hidden@db/radref"}, "hash_key_file is needed"),
        ({"AUDIT__URL": "mysql://u:hidden@db/radref"}, "sqlite:///FILE or postgresql"),
        ({"AUDIT__URL": "sqlite:///:memory:"}, "needs a SQLite file"),
        ({"AUDIT__RETENTION_DAYS": "0"}, "audit.retention_days"),
        ({"AUDIT__KEEP_TEXT": "true"}, "audit.keep_text"),
    ],
)
def test_unusable_settings_are_named_without_the_password(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], fault: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"RADREF_GATEWAY_{name}", value)
    with pytest.raises(SettingsError, match=fault) as caught:
        GatewaySettings.load()
    assert "hidden" not in str(caught.value)


def test_the_password_is_masked() -> None:
    audit = {"url": "postgresql://u:hidden@db/radref", "hash_key_file": Path("/run/secrets/audit.key")}
    shown = str(GatewaySettings(audit=audit).masked())
    assert "hidden" not in shown
    assert "/run/secrets/audit.key" in shown
