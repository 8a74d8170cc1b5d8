"""Numbers brought to one unit, so that 0.02 Sv and 20 mSv, or 6.5 min and 390 s, are equal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

from gateway.validation.quantities import Bound, Quantity

# Dimension and how many of its base unit one unit is. Months and years are a dimension of their own: they
# have no fixed number of days. Working days, too. Sievert and gray stay apart: they measure different things.
_UNITS: Final[dict[str, tuple[str, Fraction]]] = {
    unit: (dimension, Fraction(factor))
    for dimension, units in {
        "clock": "us=1/1000000 ms=1/1000 s=1 min=60 h=3600 day=86400 week=604800",
        "calendar": "month=1 year=12",
        "workday": "workday=1",
        "length": "nm=1/1000000 um=1/1000 mm=1 cm=10 m=1000 km=1000000 ft=3048/10 in=254/10",
        "area": "mm2=1 cm2=100 m2=1000000",
        "volume": "ul=1/1000 ml=1 cm3=1 dl=100 l=1000 m3=1000000",
        "mass": "ng=1/1000000 ug=1/1000 mg=1 g=1000 kg=1000000 t=1000000000 lb=45359237/100",
        "equivalent dose": "uSv=1/1000 mSv=1 Sv=1000 mrem=1/100 rem=10",
        "absorbed dose": "nGy=1/1000000 uGy=1/1000 mGy=1 cGy=10 Gy=1000 mrad=1/100 rad=10",
        "activity": "Bq=1/1000000 kBq=1/1000 MBq=1 GBq=1000 uCi=37/1000 mCi=37 Ci=37000",
        "exposure": "mR=1 R=1000",
        "frequency": "Hz=1 kHz=1000 MHz=1000000 GHz=1000000000",
        "field": "mT=1 T=1000 gauss=1/10",
        "voltage": "mV=1/1000 V=1 kV=1000",
        "current": "mA=1 A=1000",
        "charge": "mAs=1",
        "energy": "keV=1 MeV=1000",
        "power": "mW=1/1000 W=1 kW=1000",
        "pressure": "Pa=1/1000 kPa=1 MPa=1000",
        "amount": "umol=1/1000 mmol=1 mol=1000",
        "share": "%=1 permille=1/10",
    }.items()
    for unit, _, factor in (entry.partition("=") for entry in units.split())
}
_ALONE: Final = frozenset(
    "mmHg cmH2O dB HU cd lx bpm ppm px MP lp mEq mOsm U degC degF deg K J USD EUR GBP RUB".split()
)
# "20 mSv per year" and "20 mSv" under "annual limits" are one dimension; the period is compared as a facet.
_PERIODS: Final = frozenset({"day", "week", "month", "year"})
# Two values nearer than this are one value rounded differently, where the coarser has fewer digits.
_ROUNDING: Final = Fraction(25, 1000)
_ABOUT: Final = Fraction(1, 10)


class Side(StrEnum):
    """Which way a value is meant."""

    EXACT = "exact"
    UPPER = "upper"
    LOWER = "lower"


@dataclass(frozen=True, slots=True)
class Amount:
    """A value or a range in base units.

    Attributes:
        dimension: what is measured, with its denominator ("absorbed dose/clock").
        low, high: both ends, equal for a single value.
        side: at most, at least, or the value itself.
        about: the text calls it approximate.
    """

    dimension: str
    low: Fraction
    high: Fraction
    side: Side
    about: bool = False

    @property
    def is_range(self) -> bool:
        return self.low != self.high


def read_amount(quantity: Quantity, *, about: bool) -> Amount | None:
    """The amount of a quantity; None without a known unit or with more than one reading."""
    if len(quantity.values) != 1 or not quantity.unit:
        return None
    try:
        value = Fraction(next(iter(quantity.values)))
    except (ValueError, ZeroDivisionError):
        return None
    base = _base(quantity.unit)
    if base is None:
        return None
    dimension, factor = base
    if quantity.per and quantity.per not in _PERIODS:
        below = _base(quantity.per)
        if below is None:
            return None
        dimension, factor = f"{dimension}/{below[0]}", factor / below[1]
    side = {Bound.UPPER: Side.UPPER, Bound.LOWER: Side.LOWER}.get(quantity.bound, Side.EXACT)
    return Amount(dimension, value * factor, value * factor, side, about)


def _base(unit: str) -> tuple[str, Fraction] | None:
    return _UNITS.get(unit) or ((unit, Fraction(1)) if unit in _ALONE else None)


def contradict(first: Amount, second: Amount) -> bool:
    """Whether both cannot be told of one quantity of one dimension: no range that holds the other, no
    rounding, no value within the other's bound. Ranges that overlap do not contradict."""
    if first.dimension != second.dimension:
        return False
    if first.side is second.side is not Side.EXACT:
        return not _same(first, second)
    if {first.side, second.side} == {Side.UPPER, Side.LOWER}:
        return False
    for bound, exact in ((first, second), (second, first)):
        if bound.side is Side.UPPER:
            return exact.low > bound.high and not _same(exact, bound)
        if bound.side is Side.LOWER:
            return exact.high < bound.low and not _same(exact, bound)
    return (first.high < second.low or second.high < first.low) and not _same(first, second)


def _same(first: Amount, second: Amount) -> bool:
    tolerance = _ABOUT if first.about or second.about else _ROUNDING
    return any(
        abs(one - other) <= tolerance * max(abs(one), abs(other))
        and (first.about or second.about or _digits(one) != _digits(other))
        for one, other in ((first.low, second.low), (first.low, second.high), (first.high, second.low))
    ) or (first.low, first.high) == (second.low, second.high)


def _digits(value: Fraction) -> int:
    """Significant digits of a value, up to 6; a rounded value has fewer."""
    digits = f"{float(value):.6g}".partition("e")[0].replace(".", "").strip("0-")
    return len(digits)
