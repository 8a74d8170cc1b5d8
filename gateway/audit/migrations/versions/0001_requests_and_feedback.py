"""Requests, their passages, feedback. Revision 0001."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "audit_requests",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.String(length=200), nullable=False),
        sa.Column("method", sa.String(length=64), nullable=False),
        sa.Column("query_hash", sa.String(length=64), nullable=False),
        sa.Column("query_text", sa.Text(), nullable=False),
        sa.Column("outcome", sa.String(length=32), nullable=True),
        sa.Column("abstention_reason", sa.String(length=32), nullable=True),
        sa.Column("error_reason", sa.String(length=64), nullable=False),
        sa.Column("generator", sa.Text(), nullable=False),
        sa.Column("knowledge_base_version", sa.BigInteger(), nullable=False),
        sa.Column("duration_ms", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_requests")),
    )
    op.create_index(op.f("ix_audit_requests_at_id"), "audit_requests", ["at", "id"])
    op.create_index(op.f("ix_audit_requests_actor_at"), "audit_requests", ["actor", "at"])
    op.create_index(op.f("ix_audit_requests_request_id"), "audit_requests", ["request_id"])
    op.create_table(
        "audit_passages",
        sa.Column("row_id", _ID, nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("citation_id", sa.String(length=64), nullable=False),
        sa.Column("cited", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["row_id"],
            ["audit_requests.id"],
            name=op.f("fk_audit_passages_audit_requests"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("row_id", "ordinal", name=op.f("pk_audit_passages")),
    )
    op.create_index(
        op.f("ix_audit_passages_citation_id_cited_row_id"),
        "audit_passages",
        ["citation_id", "cited", "row_id"],
    )
    op.create_table(
        "audit_feedback",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("feedback_id", sa.String(length=32), nullable=False),
        sa.Column("row_id", _ID, nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.String(length=200), nullable=False),
        sa.Column("ratings", sa.JSON(), nullable=False),
        sa.Column("passages", sa.JSON(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["row_id"],
            ["audit_requests.id"],
            name=op.f("fk_audit_feedback_audit_requests"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_feedback")),
        sa.UniqueConstraint("row_id", "actor", name=op.f("uq_audit_feedback_row_id_actor")),
    )
    op.create_index(op.f("ix_audit_feedback_at_id"), "audit_feedback", ["at", "id"])
    op.create_index(op.f("ix_audit_feedback_request_id"), "audit_feedback", ["request_id"])


def downgrade() -> None:
    op.drop_table("audit_feedback")
    op.drop_table("audit_passages")
    op.drop_table("audit_requests")
