"""The stored training matrix and its answers as tables. Same columns as migrations/m0009_training.py."""

from __future__ import annotations

from sqlalchemy import REAL, Integer, Text
from sqlmodel import Field, SQLModel


class TrainingAcceleratorRow(SQLModel, table=True):
    """Numbers of accelerators in the training matrix."""

    __tablename__ = "training_accelerators"
    __table_args__ = ({"sqlite_strict": True},)

    accelerator_key: int = Field(sa_type=Integer, primary_key=True)
    accelerator_id: str = Field(sa_type=Text, unique=True, foreign_key="accelerators.accelerator_id")


class TrainingRecipeRow(SQLModel, table=True):
    """Numbers of recipes in the training matrix."""

    __tablename__ = "training_recipes"
    __table_args__ = ({"sqlite_strict": True},)

    recipe_key: int = Field(sa_type=Integer, primary_key=True)
    recipe_id: str = Field(sa_type=Text, unique=True, foreign_key="recipes.recipe_id")


class TrainingCellRow(SQLModel, table=True):
    """One cell of the training matrix; the view training_fits shows it by name."""

    __tablename__ = "training_cells"
    __table_args__ = ({"sqlite_strict": True, "sqlite_with_rowid": False},)

    model_key: int = Field(sa_type=Integer, primary_key=True, foreign_key="fit_models.model_key")
    recipe_key: int = Field(sa_type=Integer, primary_key=True, foreign_key="training_recipes.recipe_key")
    accelerator_key: int = Field(sa_type=Integer, primary_key=True, foreign_key="training_accelerators.accelerator_key")
    verdict: str = Field(sa_type=Text)
    device_count: int = Field(sa_type=Integer)
    zero_stage: int = Field(sa_type=Integer)
    recompute: str = Field(sa_type=Text)
    sequence_length: int = Field(sa_type=Integer)
    allocated_bytes: int = Field(sa_type=Integer)
    reserved_bytes: int = Field(sa_type=Integer)
    driver_bytes: int = Field(sa_type=Integer)
    high_bytes: int = Field(sa_type=Integer)
    usable_bytes: int = Field(sa_type=Integer)
    max_micro_batch: int = Field(sa_type=Integer)


class BestTrainingRow(SQLModel, table=True):
    """The smallest and the cheapest way to train a model by a recipe."""

    __tablename__ = "best_training"
    __table_args__ = ({"sqlite_strict": True, "sqlite_with_rowid": False},)

    model_id: str = Field(sa_type=Text, primary_key=True, foreign_key="models.model_id")
    recipe_id: str = Field(sa_type=Text, primary_key=True, foreign_key="recipes.recipe_id")
    criterion: str = Field(sa_type=Text, primary_key=True)
    accelerator_id: str = Field(sa_type=Text, foreign_key="accelerators.accelerator_id")
    device_count: int = Field(sa_type=Integer)
    least_count: int = Field(sa_type=Integer)
    verdict: str = Field(sa_type=Text)
    memory_bytes_summed: int = Field(sa_type=Integer)
    offer_id: int | None = Field(default=None, sa_type=Integer, foreign_key="offers.offer_id")
    price_per_hour: float | None = Field(default=None, sa_type=REAL)
    currency: str | None = Field(default=None, sa_type=Text)
    price_valid_from: str | None = Field(default=None, sa_type=Text)
