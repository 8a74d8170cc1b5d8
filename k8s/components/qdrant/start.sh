#!/bin/sh
# Node 0 founds the cluster, the others join it. A node that was in it before keeps its place: it is in its storage.
set -eu
node="${HOSTNAME##*-}"
uri="$QDRANT_SCHEME://$HOSTNAME.qdrant-pods.radref.svc:6335"
if [ "$node" = 0 ]; then
  exec ./entrypoint.sh --uri "$uri"
fi
exec ./entrypoint.sh --bootstrap "$QDRANT_SCHEME://qdrant-0.qdrant-pods.radref.svc:6335" --uri "$uri"
