"""Prices as tables. Same columns as migrations/m0003_offers.py and m0010_money.py."""

from __future__ import annotations

from sqlalchemy import REAL, Integer, Text
from sqlmodel import Field, SQLModel


class OfferRow(SQLModel, table=True):
    """What one product cost on one date."""

    __tablename__ = "offers"
    __table_args__ = ({"sqlite_strict": True},)

    offer_id: int = Field(sa_type=Integer, primary_key=True)
    kind: str = Field(sa_type=Text)
    provider: str | None = Field(default=None, sa_type=Text)
    product: str | None = Field(default=None, sa_type=Text)
    accelerator_id: str = Field(sa_type=Text, foreign_key="accelerators.accelerator_id")
    system_id: str | None = Field(default=None, sa_type=Text, foreign_key="systems.system_id")
    device_count: int = Field(sa_type=Integer)
    price: float = Field(sa_type=REAL)
    price_micros: int = Field(sa_type=Integer)
    price_per_device: float = Field(sa_type=REAL)
    currency: str = Field(sa_type=Text)
    region: str | None = Field(default=None, sa_type=Text)
    term: str | None = Field(default=None, sa_type=Text)
    tier: str | None = Field(default=None, sa_type=Text)
    price_kind: str = Field(sa_type=Text)
    valid_from: str = Field(sa_type=Text)
    valid_until: str | None = Field(default=None, sa_type=Text)
    minimum_devices: int | None = Field(default=None, sa_type=Integer)
    includes: str | None = Field(default=None, sa_type=Text)
    tax_basis: str | None = Field(default=None, sa_type=Text)
    quantity_basis: str | None = Field(default=None, sa_type=Text)
    source_id: str = Field(sa_type=Text, foreign_key="sources.source_id")
    confidence: str = Field(sa_type=Text)
    note: str | None = Field(default=None, sa_type=Text)
    issuer: str | None = Field(default=None, sa_type=Text)
    term_class: str | None = Field(default=None, sa_type=Text)
    flag: str | None = Field(default=None, sa_type=Text)
    origin: str = Field(default="release", sa_type=Text)


class ConfigurationPriceRow(SQLModel, table=True):
    """The lowest price of a configuration, by kind, currency and class of term."""

    __tablename__ = "configuration_prices"
    __table_args__ = ({"sqlite_strict": True, "sqlite_with_rowid": False},)

    configuration_id: str = Field(sa_type=Text, primary_key=True, foreign_key="configurations.configuration_id")
    kind: str = Field(sa_type=Text, primary_key=True)
    currency: str = Field(sa_type=Text, primary_key=True)
    term_class: str = Field(sa_type=Text, primary_key=True)
    origin: str = Field(default="release", sa_type=Text, primary_key=True)
    offer_id: int = Field(sa_type=Integer, foreign_key="offers.offer_id")
    units: float = Field(sa_type=REAL)
    price: float = Field(sa_type=REAL)
    price_per_device: float = Field(sa_type=REAL)
    basis: str = Field(sa_type=Text)
    valid_from: str = Field(sa_type=Text)


class DevicePriceRow(SQLModel, table=True):
    """The lowest price of one device in any product, by kind, currency and class of term."""

    __tablename__ = "device_prices"
    __table_args__ = ({"sqlite_strict": True, "sqlite_with_rowid": False},)

    accelerator_id: str = Field(sa_type=Text, primary_key=True, foreign_key="accelerators.accelerator_id")
    kind: str = Field(sa_type=Text, primary_key=True)
    currency: str = Field(sa_type=Text, primary_key=True)
    term_class: str = Field(sa_type=Text, primary_key=True)
    origin: str = Field(default="release", sa_type=Text, primary_key=True)
    offer_id: int = Field(sa_type=Integer, foreign_key="offers.offer_id")
    price_per_device: float = Field(sa_type=REAL)
