"""A real Envoy in front of real services: minutes, and a binary of 100 MB, so only in `make test-envoy`."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("RADREF_ENVOY") else ["test_*.py"]
