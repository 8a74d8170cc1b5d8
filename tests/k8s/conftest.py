from __future__ import annotations

import pytest

from tests.k8s.manifests import VARIANTS, Rendered, render


@pytest.fixture(scope="session", params=VARIANTS)
def rendered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    """The manifests of every overlay and of every combination of components, one after the other."""
    variant: str = request.param
    return render(variant, tmp_path_factory.mktemp("manifests"))
