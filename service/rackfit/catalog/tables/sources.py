"""Sources, provenance, names and releases as tables. Same columns as migrations/m0001_sources.py."""

from __future__ import annotations

from sqlalchemy import Integer, Text
from sqlmodel import Field, SQLModel

STRICT = {"sqlite_strict": True}


class SourceRow(SQLModel, table=True):
    """A document, data set, package or page that facts were read from."""

    __tablename__ = "sources"
    __table_args__ = (STRICT,)

    source_id: str = Field(sa_type=Text, primary_key=True)
    title: str = Field(sa_type=Text)
    url: str | None = Field(default=None, sa_type=Text)
    issuer: str | None = Field(default=None, sa_type=Text)
    version: str | None = Field(default=None, sa_type=Text)
    published: str | None = Field(default=None, sa_type=Text)
    accessed: str | None = Field(default=None, sa_type=Text)
    kind: str = Field(sa_type=Text)
    source_class: str = Field(sa_type=Text)
    licence: str | None = Field(default=None, sa_type=Text)
    use_rule: str | None = Field(default=None, sa_type=Text)
    share_alike: int = Field(default=0, sa_type=Integer)
    origin: str = Field(default="release", sa_type=Text, sa_column_kwargs={"server_default": "release"})


class ProvenanceRow(SQLModel, table=True):
    """One source of one field of one record."""

    __tablename__ = "provenance"
    __table_args__ = ({**STRICT, "sqlite_with_rowid": False},)

    table_name: str = Field(sa_type=Text, primary_key=True)
    key: str = Field(sa_type=Text, primary_key=True)
    field: str = Field(sa_type=Text, primary_key=True)
    source_id: str = Field(sa_type=Text, primary_key=True, foreign_key="sources.source_id")
    rank: int = Field(sa_type=Integer, primary_key=True)
    second_hand: int = Field(default=0, sa_type=Integer)


class DisputeRow(SQLModel, table=True):
    """What another source says about a field, and why it was not taken."""

    __tablename__ = "disputes"
    __table_args__ = (STRICT,)

    dispute_id: int = Field(sa_type=Integer, primary_key=True)
    table_name: str = Field(sa_type=Text)
    key: str = Field(sa_type=Text)
    field: str = Field(sa_type=Text)
    other_value: str = Field(sa_type=Text)
    source_id: str | None = Field(default=None, sa_type=Text, foreign_key="sources.source_id")
    reason: str = Field(sa_type=Text)


class UnknownFieldRow(SQLModel, table=True):
    """A field that was looked for and not found."""

    __tablename__ = "unknown_fields"
    __table_args__ = ({**STRICT, "sqlite_with_rowid": False},)

    table_name: str = Field(sa_type=Text, primary_key=True)
    key: str = Field(sa_type=Text, primary_key=True)
    field: str = Field(sa_type=Text, primary_key=True)


class AliasRow(SQLModel, table=True):
    """One name of one record; a class name has a row per member."""

    __tablename__ = "aliases"
    __table_args__ = ({**STRICT, "sqlite_with_rowid": False},)

    kind: str = Field(sa_type=Text, primary_key=True)
    alias_key: str = Field(sa_type=Text, primary_key=True)
    target_id: str = Field(sa_type=Text, primary_key=True)
    alias: str = Field(sa_type=Text)
    is_class: int = Field(default=0, sa_type=Integer)
    rank: int = Field(default=1, sa_type=Integer)


class ReleaseRow(SQLModel, table=True):
    """A published version of the data."""

    __tablename__ = "releases"
    __table_args__ = (STRICT,)

    version: str = Field(sa_type=Text, primary_key=True)
    date: str = Field(sa_type=Text)
    logical_hash: str | None = Field(default=None, sa_type=Text)
    notes: str | None = Field(default=None, sa_type=Text)


class ChangeRow(SQLModel, table=True):
    """A value that a release changed."""

    __tablename__ = "changes"
    __table_args__ = (STRICT,)

    change_id: int = Field(sa_type=Integer, primary_key=True)
    version: str = Field(sa_type=Text, foreign_key="releases.version")
    table_name: str = Field(sa_type=Text)
    key: str = Field(sa_type=Text)
    field: str | None = Field(default=None, sa_type=Text)
    old_value: str | None = Field(default=None, sa_type=Text)
    new_value: str | None = Field(default=None, sa_type=Text)
    source_id: str | None = Field(default=None, sa_type=Text, foreign_key="sources.source_id")
