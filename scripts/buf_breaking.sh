#!/usr/bin/env bash
# Fails when the protos break what main has. Skips, and says so, where there is no main with protos to compare.
set -euo pipefail
cd "$(dirname "$0")/.."
buf=$1
base=$(git rev-parse --verify --quiet origin/main || true)
if [ -z "$base" ] || ! git cat-file -e "$base:buf.yaml" 2>/dev/null; then
  echo "buf breaking: no earlier main to compare with, skipped"
  exit 0
fi
"$buf" breaking --against ".git#ref=$base"
