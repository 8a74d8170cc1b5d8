"""Every rule group and every dashboard, in the order in which people read them."""

from __future__ import annotations

from monitoring.alerts.answers import ANSWER_ALERTS
from monitoring.alerts.certificates import CERTIFICATE_ALERTS
from monitoring.alerts.knowledge_base import KNOWLEDGE_BASE_ALERTS
from monitoring.alerts.model_servers import MODEL_SERVER_ALERTS
from monitoring.alerts.services import SERVICE_ALERTS
from monitoring.burn_rates import burn_groups
from monitoring.dashboards.answering import ANSWERING_BOARD
from monitoring.dashboards.board import Board
from monitoring.dashboards.gpu_backends import GPU_BOARD
from monitoring.dashboards.ingest import INGEST_BOARD
from monitoring.dashboards.overview import OVERVIEW_BOARD
from monitoring.dashboards.retrieval_inference import RETRIEVAL_BOARD
from monitoring.rules import Alert, Group
from monitoring.slos import SLOS

GROUPS: tuple[Group, ...] = (
    *burn_groups(SLOS),
    SERVICE_ALERTS,
    ANSWER_ALERTS,
    KNOWLEDGE_BASE_ALERTS,
    CERTIFICATE_ALERTS,
    MODEL_SERVER_ALERTS,
)
BOARDS: tuple[Board, ...] = (OVERVIEW_BOARD, ANSWERING_BOARD, RETRIEVAL_BOARD, INGEST_BOARD, GPU_BOARD)


def alerts() -> list[Alert]:
    """All alerting rules."""
    return [rule for group in GROUPS for rule in group.rules if isinstance(rule, Alert)]
