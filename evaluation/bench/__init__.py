"""`radref bench`: Search under load, and how much of its time is neither model nor vector store."""
