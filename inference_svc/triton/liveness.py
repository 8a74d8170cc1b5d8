"""Liveness of the models behind Triton, for its container: `python3 -m inference_svc.triton.liveness`.

Triton's own /v2/health/live and /ready stay green when the process of a python model has died (killed for
memory, say), while every request of that model fails (seen with Triton 2.51). So this asks each model for
real answers, over HTTP and with the standard library alone. A model that is busy is alive: a full queue, or
no answer in time, is no reason to restart.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

_TEXT = {"datatype": "BYTES", "shape": [1, 1], "data": ["readiness"]}
REQUESTS: Mapping[str, Sequence[Mapping[str, object]]] = {
    "frida": (
        {"name": "TEXT", **_TEXT},
        {"name": "KIND", "datatype": "BYTES", "shape": [1, 1], "data": ["query"]},
    ),
    "frida_tokenizer": (
        {"name": "TEXT", "datatype": "BYTES", "shape": [1], "data": ["readiness"]},
        {"name": "WANT_OFFSETS", "datatype": "BOOL", "shape": [1], "data": [False]},
    ),
    "qwen3_reranker": tuple({"name": name, **_TEXT} for name in ("QUERY", "DOCUMENT", "INSTRUCTION")),
}
# Copies of a model take turns; one of them may be dead.
_ATTEMPTS = 3
# What Triton's python backend answers for a model whose process is gone.
_DEAD = "is not healthy"


def dead_models(base_url: str, models: Sequence[str], timeout: float) -> list[str]:
    """The models that will never answer again; all of them where Triton itself cannot be reached.

    Args:
        base_url: of Triton's HTTP endpoint, e.g. "http://127.0.0.1:8000".
        models: names in REQUESTS.
        timeout: seconds to wait for each answer, > 0.
    """
    return [model for model in models if any(_is_dead(base_url, model, timeout) for _ in range(_ATTEMPTS))]


def _is_dead(base_url: str, model: str, timeout: float) -> bool:
    # Priority 1: a probe that waited behind documents would tell nothing.
    body = json.dumps({"inputs": REQUESTS[model], "parameters": {"priority": 1}}).encode()
    request = Request(f"{base_url.rstrip('/')}/v2/models/{model}/infer", body)
    try:
        with urlopen(request, timeout=timeout):
            return False
    except HTTPError as error:
        with error:
            return _DEAD in error.read(65_536).decode("utf-8", errors="replace")
    except TimeoutError:
        return False
    except URLError as error:
        return not isinstance(error.reason, TimeoutError)
    except ConnectionError:
        return True


def main(arguments: Sequence[str]) -> int:
    """`[URL [MODEL ...]]`; exit code 0 alive, 1 dead (names on stderr), 2 wrong arguments."""
    base_url = arguments[0] if arguments else "http://127.0.0.1:8000"
    models = list(arguments[1:]) or list(REQUESTS)
    if urlsplit(base_url).scheme not in ("http", "https") or not set(models) <= set(REQUESTS):
        print(f"usage: liveness [http://HOST:PORT [{' | '.join(REQUESTS)} ...]]", file=sys.stderr)
        return 2
    dead = dead_models(base_url, models, timeout=2.0)
    if dead:
        print(f"dead: {', '.join(dead)}", file=sys.stderr)
    return int(bool(dead))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
