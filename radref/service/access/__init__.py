"""Who may call what: tokens, roles, rate limits. Knows no transport."""
