"""The `parameters` of a config.pbtxt, checked when the model starts."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from inference_svc.triton.errors import StartError


class Parameters:
    """Typed access to the parameters of one model.

    Args:
        model_config: the parsed `model_config` of initialize().
        environment: for overrides; the process's own unless given.
    """

    def __init__(self, model_config: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> None:
        self._model = str(model_config.get("name", ""))
        self._environment = environment
        self._values = {
            str(name): str(entry.get("string_value", ""))
            for name, entry in (model_config.get("parameters") or {}).items()
        }

    def text(self, name: str) -> str:
        """A text, as it stands, white space included.

        Raises:
            StartError: not in the file.
        """
        if name not in self._values:
            raise StartError(f"config.pbtxt of {self._model} has no parameter {name}")
        return self._values[name]

    def choice(self, name: str, allowed: Collection[str]) -> str:
        """One of `allowed`.

        Raises:
            StartError: anything else.
        """
        value = self.text(name)
        if value not in allowed:
            raise StartError(f"parameter {name} of {self._model} is one of {', '.join(sorted(allowed))}")
        return value

    def whole(self, name: str, low: int, high: int) -> int:
        """A whole number from `low` to `high`.

        Raises:
            StartError: anything else.
        """
        value = self.text(name)
        if not value.isascii() or not value.isdigit() or not low <= int(value) <= high:
            raise StartError(f"parameter {name} of {self._model} is a whole number from {low} to {high}")
        return int(value)

    def directory(self, name: str, variable: str) -> Path:
        """A model directory: the environment variable, or else the parameter.

        Raises:
            StartError: neither is set.
        """
        value = self._environment.get(variable) or self.text(name)
        if not value:
            raise StartError(
                f"no weights are named for {self._model}: set {variable}, or {name} in its config.pbtxt, "
                "to the directory that holds them"
            )
        return Path(value)
