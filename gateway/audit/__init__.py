"""Who asked when, what was cited and how it ended; and what users say about the answers."""
