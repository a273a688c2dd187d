"""Columns that neither database gives by itself."""

from typing import Any

from django.db import models
from django.db.models.functions import Now

TWO_63 = 1 << 63
TWO_64 = 1 << 64


class UnsignedBigIntegerField(models.BigIntegerField):
    """An integer in 0 .. 2**64 - 1: BIGINT UNSIGNED on MySQL, mapped to signed on SQLite.

    SQLite's integers are signed: a larger value raises on insert and matches nothing in a look-up, so
    values and look-up values are both mapped by two's complement there.
    """

    def db_type(self, connection: Any) -> str | None:
        return "bigint unsigned" if connection.vendor == "mysql" else "bigint"

    def get_internal_type(self) -> str:
        # As BigIntegerField, Django would check look-up values against the signed range.
        return "UnsignedBigIntegerField"

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        value = super().get_db_prep_value(value, connection, prepared)
        if value is None or connection.vendor == "mysql":
            return value
        return value - TWO_64 if value >= TWO_63 else value

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return value + TWO_64 if value is not None and value < 0 else value

    def formfield(self, **kwargs: Any) -> Any:
        return super().formfield(**{"min_value": 0, "max_value": TWO_64 - 1, **kwargs})

    @property
    def validators(self) -> list[Any]:
        from django.core.validators import MaxValueValidator, MinValueValidator

        return [MinValueValidator(0), MaxValueValidator(TWO_64 - 1)]


class ExactCharField(models.CharField):
    """Text compared byte by byte: to MariaDB's usual collations 'abc' and 'Abc' are equal.

    Spaces at the end do not count to MySQL and MariaDB even so.
    """

    def db_parameters(self, connection: Any) -> Any:
        parameters = super().db_parameters(connection)
        if connection.vendor == "mysql":
            parameters["collation"] = "utf8mb4_bin"
        return parameters


class UtcNow(Now):
    """The present in UTC as a column default, for rows that a crawler inserts by SQL.

    Django's Now() is the server's local time on MySQL, eight hours off in Shanghai.
    """

    def as_mysql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="UTC_TIMESTAMP(6)", **context)
