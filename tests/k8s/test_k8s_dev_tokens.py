"""Tokens of the cpu-dev overlay count with the settings of that overlay."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import jwt
import pytest

from radref.service.settings import UserFacingSettings
from tests.k8s.effective_settings import load_all
from tests.k8s.manifests import ROOT, render


def make(folder: Path, *arguments: str) -> str:
    script = ROOT / "k8s" / "overlays" / "cpu-dev" / "make_token.py"
    done = subprocess.run(
        [sys.executable, str(script), "--folder", str(folder), *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.strip()


def test_a_token_counts_with_the_overlays_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = make(tmp_path, "--subject", "ann", "--roles", "reader", "curator")
    make(tmp_path)
    # The key stays: keys file and tokens of before go on.
    (key,) = jwt.PyJWKSet.from_dict(json.loads((tmp_path / "jwks.json").read_text(encoding="utf-8"))).keys
    assert stat.S_IMODE((tmp_path / "private-key.pem").stat().st_mode) == 0o600
    assert jwt.get_unverified_header(first)["kid"] == key.key_id
    assert "d" not in json.loads((tmp_path / "jwks.json").read_text(encoding="utf-8"))["keys"][0]
    services = load_all(render("cpu-dev", tmp_path), tmp_path, monkeypatch)
    for name in ("gateway", "ingest"):
        settings = services[name]
        assert isinstance(settings, UserFacingSettings)
        access = settings.access
        claims = jwt.decode(
            first, key.key, algorithms=list(access.algorithms), audience=access.audience, issuer=access.issuer
        )
        assert claims["sub"] == "ann"
        assert claims[access.roles_claim[0]] == ["reader", "curator"]
