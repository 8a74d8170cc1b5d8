"""Who may call what: tokens, keys, roles, rate limits. Knows no transport."""
