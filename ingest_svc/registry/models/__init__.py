"""Tables of the registry. Importing this package registers all of them with `Base.metadata`."""

from ingest_svc.registry.models.audit_event import AuditEventRow
from ingest_svc.registry.models.base import Base
from ingest_svc.registry.models.document import DocumentRow
from ingest_svc.registry.models.job import JobRow, JobVectorRow
from ingest_svc.registry.models.passage import PassageRow
from ingest_svc.registry.models.version import ParsedContentRow, VersionRow

__all__ = [
    "AuditEventRow",
    "Base",
    "DocumentRow",
    "JobRow",
    "JobVectorRow",
    "ParsedContentRow",
    "PassageRow",
    "VersionRow",
]
