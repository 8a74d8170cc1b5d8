"""What a transaction is for; the engines begin it accordingly."""

from __future__ import annotations

from enum import StrEnum

# Execution option of a connection that carries its kind; without it a transaction is a WRITE.
OPTION = "radref_transaction"


class TransactionKind(StrEnum):
    """WRITE: one after the other. READ: one snapshot. APART: writes that no other transaction decides on."""

    WRITE = "write"
    READ = "read"
    APART = "apart"
