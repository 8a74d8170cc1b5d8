#!/usr/bin/env bash
# Writes docs/openapi.json, the description of the REST facade with default settings.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
"$python" -m gateway.rest.description > docs/openapi.json.tmp
mv docs/openapi.json.tmp docs/openapi.json
