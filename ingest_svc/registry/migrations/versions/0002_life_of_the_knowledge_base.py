"""Reviews, kept vectors, workers, blobs in the database, watched sources. Revision 0002.

Vectors of jobs are dropped: an unfinished job makes its vectors again.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_table("job_vectors")
    with op.batch_alter_table("versions") as table:
        table.add_column(
            sa.Column("submitted_by", sa.String(length=200), nullable=False, server_default="local")
        )
        table.add_column(sa.Column("derived", sa.JSON(), nullable=False, server_default="[]"))
        table.add_column(sa.Column("trusted", sa.Boolean(), nullable=True))
        table.add_column(sa.Column("minhash", sa.LargeBinary(), nullable=True))
        table.add_column(sa.Column("near_duplicates", sa.JSON(), nullable=False, server_default="[]"))
    with op.batch_alter_table("jobs") as table:
        table.alter_column("document_id", existing_type=sa.String(length=128), nullable=True)
        table.alter_column("version", existing_type=sa.Integer(), nullable=True)
        table.add_column(sa.Column("kind", sa.String(length=16), nullable=False, server_default="index"))
        table.add_column(sa.Column("embedded", sa.Integer(), nullable=False, server_default="0"))
        table.add_column(sa.Column("reused", sa.Integer(), nullable=False, server_default="0"))
        table.add_column(sa.Column("worker", sa.String(length=64), nullable=True))

    with op.batch_alter_table("passages") as table:
        table.drop_constraint(op.f("uq_passages_document_id_version_ordinal"), type_="unique")
    op.create_index(
        op.f("ix_passages_document_id_version_ordinal"), "passages", ["document_id", "version", "ordinal"]
    )
    op.create_table(
        "child_vectors",
        sa.Column("document_id", sa.String(length=128), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("text_sha256", sa.String(length=64), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.document_id"], name=op.f("fk_child_vectors_documents")
        ),
        sa.PrimaryKeyConstraint("document_id", "fingerprint", "text_sha256", name=op.f("pk_child_vectors")),
    )
    op.create_table(
        "reviews",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("document_id", sa.String(length=128), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("reviewer", sa.String(length=200), nullable=False),
        sa.Column("decision", sa.String(length=16), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id", "version"],
            ["versions.document_id", "versions.version"],
            name=op.f("fk_reviews_versions"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reviews")),
    )
    op.create_index(op.f("ix_reviews_document_id_version"), "reviews", ["document_id", "version"])
    op.create_table(
        "workers",
        sa.Column("executor_id", sa.String(length=64), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("executor_id", name=op.f("pk_workers")),
    )
    op.create_table(
        "blob_parts",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", "ordinal", name=op.f("pk_blob_parts")),
    )
    op.create_table(
        "watched_files",
        sa.Column("location", sa.String(length=2000), nullable=False),
        sa.Column("source", sa.String(length=64), nullable=False),
        sa.Column("document_id", sa.String(length=128), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("etag", sa.String(length=500), nullable=False),
        sa.Column("last_modified", sa.String(length=100), nullable=False),
        sa.Column("checked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("vanished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failure", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("location", name=op.f("pk_watched_files")),
    )
    op.create_index(op.f("ix_watched_files_document_id"), "watched_files", ["document_id"])


def downgrade() -> None:
    op.drop_table("watched_files")
    op.drop_table("blob_parts")
    op.drop_table("workers")
    op.drop_table("reviews")
    op.drop_table("child_vectors")
    op.drop_index(op.f("ix_passages_document_id_version_ordinal"), "passages")
    with op.batch_alter_table("passages") as table:
        table.create_unique_constraint(
            op.f("uq_passages_document_id_version_ordinal"), ["document_id", "version", "ordinal"]
        )
    op.execute("DELETE FROM jobs WHERE document_id IS NULL")
    with op.batch_alter_table("jobs") as table:
        for column in ("worker", "reused", "embedded", "kind"):
            table.drop_column(column)
        table.alter_column("version", existing_type=sa.Integer(), nullable=False)
        table.alter_column("document_id", existing_type=sa.String(length=128), nullable=False)
    with op.batch_alter_table("versions") as table:
        for column in ("near_duplicates", "minhash", "trusted", "derived", "submitted_by"):
            table.drop_column(column)
    op.create_table(
        "job_vectors",
        sa.Column("job_id", sa.String(length=32), nullable=False),
        sa.Column("text_sha256", sa.String(length=64), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_vectors_jobs")),
        sa.PrimaryKeyConstraint("job_id", "text_sha256", "fingerprint", name=op.f("pk_job_vectors")),
    )
