"""Tables of the first release. Revision 0001."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit_events",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.String(length=200), nullable=False),
        sa.Column("action", sa.String(length=32), nullable=False),
        sa.Column("document_id", sa.String(length=128), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_events")),
    )
    op.create_index(op.f("ix_audit_events_document_id_id"), "audit_events", ["document_id", "id"])

    op.create_table(
        "documents",
        sa.Column("document_id", sa.String(length=128), nullable=False),
        sa.Column("newest_version", sa.Integer(), nullable=False),
        sa.Column("active_version", sa.Integer(), nullable=False),
        sa.Column("index_cleanup", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("document_id", name=op.f("pk_documents")),
    )
    op.create_index(op.f("ix_documents_index_cleanup"), "documents", ["index_cleanup"])
    op.create_index(op.f("ix_documents_updated_at_document_id"), "documents", ["updated_at", "document_id"])

    op.create_table(
        "versions",
        sa.Column("document_id", sa.String(length=128), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("held_sha256", sa.String(length=64), nullable=True),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("file_name", sa.String(length=255), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("failed_from", sa.String(length=16), nullable=True),
        sa.Column("title", sa.String(length=500), nullable=False),
        sa.Column("topic", sa.String(length=64), nullable=False),
        sa.Column("language", sa.String(length=16), nullable=False),
        sa.Column("source_category", sa.String(length=64), nullable=False),
        sa.Column("source", sa.String(length=2000), nullable=False),
        sa.Column("licence", sa.String(length=500), nullable=False),
        sa.Column("year", sa.Integer(), nullable=False),
        sa.Column("authority", sa.String(length=200), nullable=False),
        sa.Column("effective_from", sa.DateTime(timezone=True), nullable=True),
        sa.Column("effective_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("supersedes", sa.JSON(), nullable=False),
        sa.Column("failure_reason", sa.String(length=64), nullable=True),
        sa.Column("failure_message", sa.Text(), nullable=True),
        sa.Column("failure_retryable", sa.Boolean(), nullable=False),
        sa.Column("parents", sa.Integer(), nullable=False),
        sa.Column("children", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.document_id"], name=op.f("fk_versions_documents")
        ),
        sa.PrimaryKeyConstraint("document_id", "version", name=op.f("pk_versions")),
        sa.UniqueConstraint("held_sha256", name=op.f("uq_versions_held_sha256")),
    )
    op.create_index(op.f("ix_versions_sha256"), "versions", ["sha256"])
    op.create_index(op.f("ix_versions_state_topic"), "versions", ["state", "topic"])

    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("document_id", sa.String(length=128), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("stage", sa.String(length=16), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("fruitless_attempts", sa.Integer(), nullable=False),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=False),
        sa.Column("failure_reason", sa.String(length=64), nullable=True),
        sa.Column("failure_message", sa.Text(), nullable=True),
        sa.Column("failure_retryable", sa.Boolean(), nullable=False),
        sa.Column("warnings", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id", "version"],
            ["versions.document_id", "versions.version"],
            name=op.f("fk_jobs_versions"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index(op.f("ix_jobs_document_id_version"), "jobs", ["document_id", "version"])
    op.create_index(
        op.f("ix_jobs_stage_not_before_created_at"), "jobs", ["stage", "not_before", "created_at"]
    )

    op.create_table(
        "parsed_contents",
        sa.Column("document_id", sa.String(length=128), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("blocks", sa.JSON(), nullable=False),
        sa.Column("report", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id", "version"],
            ["versions.document_id", "versions.version"],
            name=op.f("fk_parsed_contents_versions"),
        ),
        sa.PrimaryKeyConstraint("document_id", "version", name=op.f("pk_parsed_contents")),
    )
    op.create_table(
        "passages",
        sa.Column("citation_id", sa.String(length=20), nullable=False),
        sa.Column("document_id", sa.String(length=128), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("section_path", sa.JSON(), nullable=False),
        sa.Column("page_first", sa.Integer(), nullable=True),
        sa.Column("page_last", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["document_id", "version"],
            ["versions.document_id", "versions.version"],
            name=op.f("fk_passages_versions"),
        ),
        sa.PrimaryKeyConstraint("citation_id", name=op.f("pk_passages")),
        sa.UniqueConstraint(
            "document_id", "version", "ordinal", name=op.f("uq_passages_document_id_version_ordinal")
        ),
    )
    op.create_table(
        "job_vectors",
        sa.Column("job_id", sa.String(length=32), nullable=False),
        sa.Column("text_sha256", sa.String(length=64), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_vectors_jobs")),
        sa.PrimaryKeyConstraint("job_id", "text_sha256", "fingerprint", name=op.f("pk_job_vectors")),
    )


def downgrade() -> None:
    op.drop_table("job_vectors")
    op.drop_table("passages")
    op.drop_table("parsed_contents")
    op.drop_index(op.f("ix_jobs_stage_not_before_created_at"), "jobs")
    op.drop_index(op.f("ix_jobs_document_id_version"), "jobs")

    op.drop_table("jobs")
    op.drop_index(op.f("ix_versions_state_topic"), "versions")
    op.drop_index(op.f("ix_versions_sha256"), "versions")

    op.drop_table("versions")
    op.drop_index(op.f("ix_documents_updated_at_document_id"), "documents")
    op.drop_index(op.f("ix_documents_index_cleanup"), "documents")

    op.drop_table("documents")
    op.drop_index(op.f("ix_audit_events_document_id_id"), "audit_events")

    op.drop_table("audit_events")
