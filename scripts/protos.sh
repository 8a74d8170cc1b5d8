#!/usr/bin/env bash
# Generates radref/api from protos/. With --check: fails when the committed stubs are stale.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
out=.
if [ "${1:-}" = --check ]; then out=$(mktemp -d); trap 'rm -rf "$out"' EXIT; fi
mapfile -t files < <(cd protos && find radref -name '*.proto' | sort)
PATH="$(cd "$(dirname "$python")" && pwd):$PATH" "$python" -m grpc_tools.protoc -Iprotos \
  --python_out="$out" --grpc_python_out="$out" --mypy_out="$out" --mypy_grpc_out="$out" "${files[@]}"
find "$out/radref/api" -type d -exec touch {}/__init__.py \;
if [ "$out" != . ]; then
  diff -r --exclude=__pycache__ "$out/radref/api" radref/api || { echo "radref/api is stale: run 'make protos'" >&2; exit 1; }
  echo "generated stubs are fresh"
fi
