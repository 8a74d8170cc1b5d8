"""Tables of the registry. Importing this package registers all of them with `Base.metadata`."""

from ingest_svc.registry.models.audit_event import AuditEventRow
from ingest_svc.registry.models.base import Base
from ingest_svc.registry.models.blob_part import BlobPartRow
from ingest_svc.registry.models.child_vector import ChildVectorRow
from ingest_svc.registry.models.document import DocumentRow
from ingest_svc.registry.models.job import JobRow
from ingest_svc.registry.models.passage import PassageRow
from ingest_svc.registry.models.review import ReviewRow
from ingest_svc.registry.models.version import ParsedContentRow, VersionRow
from ingest_svc.registry.models.watched_file import WatchedFileRow
from ingest_svc.registry.models.worker import WorkerRow

__all__ = [
    "AuditEventRow",
    "Base",
    "BlobPartRow",
    "ChildVectorRow",
    "DocumentRow",
    "JobRow",
    "ParsedContentRow",
    "PassageRow",
    "ReviewRow",
    "VersionRow",
    "WatchedFileRow",
    "WorkerRow",
]
