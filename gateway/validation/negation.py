"""Negations of a quotation that a statement lacks, English and Russian."""

from __future__ import annotations

import re
from typing import Final

# Bounds are no negations: "not more than 5" and "at most 5" say the same.
_BOUND: Final = re.compile(
    r"\b(?:not|no|nor)\s+(?:be\s+)?(?:more|less|fewer|greater|higher|lower|later|earlier|longer)(?:\s+than)?\b"
    r"|\b(?:not|cannot)\s+(?:to\s+)?exceed\w*|\bn(?:ot|o)\s+only\b"
    r"|\bне\s+(?:более|менее|выше|ниже|свыше|больше|меньше|позднее|позже|ранее|раньше|старше|моложе|превыша\w+)\b"
    r"|\bне\s+только\b|\bне\s+реже\b|\bне\s+чаще\b",
    re.IGNORECASE,
)
_NEGATION: Final = re.compile(
    r"\b(?:not|no|never|neither|nor|none|nobody|nothing|without|cannot|unless|except(?:ion|ions|ing)?|excluding|excluded?|excludes"
    r"|unable|prohibit\w*|forbid\w*|forbidden|absent|absence|lacks?|lacking|fails?|exempt\w*|contraindicat\w*|outside"
    r"|other\s+than|instead\s+of|rather\s+than)\b"
    r"|\w+n['’]t\b|\bnon[-‐‑]?\w+"
    r"|\b(?:не|ни|нет|никогда|нельзя|никак\w*|без|кроме|исключ\w+|запрещ\w+|запрет\w*|воспрещ\w+|недопуст\w+|невозмож\w+|нецелесообраз\w+"
    r"|отсутств\w+|противопоказ\w+|отказ\w*|вне|вместо|недействит\w+|неправомер\w+|необязат\w+)\b",
    re.IGNORECASE,
)


def lacks_negation(statement: str, quote: str) -> bool:
    """True when the quotation negates or excepts and the statement nowhere does."""
    return _negates(quote) and not _negates(statement)


def _negates(text: str) -> bool:
    return bool(_NEGATION.search(_BOUND.sub(" ", text)))
