"""From passages to a checked answer: the generator's output read, validated, and judged as a whole."""
