"""A real Prometheus that scrapes a real stack: several minutes, so only in `make test-prometheus`."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("RADREF_TEST_PROMETHEUS") else ["test_*.py"]
