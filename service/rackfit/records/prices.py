"""Dated prices: rows of data/prices/*.csv."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from rackfit.records.base import Confidence, PartialDate, Slug, SourceKey, Text

MICRO = Decimal(1_000_000)
"""Prices are kept in millionths of the currency unit: exact for every price that a provider prints."""

Currency = Annotated[str, StringConstraints(pattern=r"^(USD|EUR|GBP|CNY|AUD|BRL|CAD|CHF|INR|JPY|KRW|SEK|SGD|TWD|ZAR)$")]
"""ISO 4217 code."""

Price = Annotated[Decimal, Field(ge=0, max_digits=15, decimal_places=6)]


class Offer(BaseModel):
    """What one product cost on one date: the price is for all its devices together."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["hourly", "purchase"]
    provider: Text | None = None
    issuer: Text | None = None
    product: Text | None = None
    accelerator_id: Slug
    system_id: Slug | None = None
    device_count: Annotated[int, Field(ge=1, le=100_000)]
    price: Price
    currency: Currency
    region: Text | None = None
    term: Text | None = None
    tier: Text | None = None
    price_kind: Literal["list", "marketplace", "median", "quote", "msrp", "street", "reseller quote", "tender award"]
    valid_from: PartialDate
    valid_until: PartialDate | None = None
    minimum_devices: Annotated[int, Field(ge=1)] | None = None
    includes: Text | None = None
    tax_basis: Text | None = None
    quantity_basis: Text | None = None
    source: SourceKey
    confidence: Confidence
    note: Text | None = None
    file: str
    origin: Literal["release", "local"]

    @property
    def price_micros(self) -> int:
        """Price in millionths of the currency unit, exact."""
        return int(self.price * MICRO)

    @property
    def price_per_device(self) -> Decimal:
        """Price of one device of the product, in the currency unit."""
        return self.price / self.device_count

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes an offer itself: two rows with one identity are an error.

        Purchase prices are often the two ends of a range, so there the price belongs to the identity.
        """
        place = (self.kind, self.provider, self.product, self.accelerator_id, self.system_id, self.device_count)
        terms = (self.currency, (self.region or "").casefold(), self.term, self.tier, self.price_kind)
        when = (self.valid_from, self.source, self.quantity_basis)
        return place + terms + when + ((self.price_micros,) if self.kind == "purchase" else ())

    @model_validator(mode="after")
    def _hourly_names_its_seller(self) -> Self:
        if self.kind == "hourly" and not (self.provider and self.product and self.term):
            raise ValueError("an hourly offer with provider, product and term")
        if self.valid_until is not None and self.valid_until < self.valid_from:
            raise ValueError("valid_until on or after valid_from")
        return self
