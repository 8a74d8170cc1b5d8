"""An HTTP server of models: its client, its faults, and trying again."""
