"""`radref eval consult`: imaging appropriateness on scenarios and probes."""
