"""An embedder whose model runs on a Triton server."""
