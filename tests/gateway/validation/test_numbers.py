import pytest

from gateway.validation.numbers import read_claims, read_support, unsupported
from gateway.validation.quantities import is_cyrillic


def wrong(statement: str, quote: str, context: str = "") -> int:
    support = read_support(quote, context, decimal_comma=is_cyrillic(quote + context))
    return unsupported(read_claims(statement), [support])


@pytest.mark.parametrize(
    ("statement", "quote", "context"),
    [
        ("It lasts 6.5 min.", "длится 6,5 мин", ""),
        ("Up to 1000 mL.", "up to 1,000 mL", ""),
        ("До 1 000 рублей.", "до 1000 рублей", ""),
        ("The range is 5 to 10 mSv.", "5–10 mSv", ""),
        ("5 mSv is the lower end.", "from 5 to 10 mSv", ""),
        ("0.05 Sv (5 rem) a year", "0.05 Sv (5 rem) in a year", ""),
        ("Within 6 months.", "within six months prior to use", ""),
        ("45 рабочих дней", "не более сорока пяти рабочих дней", ""),
        ("Хранить 3 года.", "хранению в течение 3-х лет", ""),
        ("5 лет", "5 (пять) лет", ""),
        ("15 rem for the lens", "| Lens | 15 |", "| Part | Limit (rem) |"),
        ("50 mSv per year", "50 mSv", "The annual limits are:"),
        ("See § 892.1990.", "a diaphanoscope", "§ 892.1990 Transilluminator"),
        ("88 mGy/min", "exceeding 88 mGy per minute", ""),
        ("720 мВт/см²", "720 mW/cm2", ""),
        ("In 2018 it was 5 %.", "5 percent", "Программа 2018 года"),
        ("from T12 to L3", "at about the T12 to L3 vertebrae", ""),
        ("July 7, 1988", "7 July 1988", ""),
        ("до 1 ноября", "не позднее 1 ноября", ""),
        ("1 ноября 2020", "01.11.2020", ""),
        ("1. The first of two rules [2].", "both rules", ""),
        ("$300,000 at most", "shall not exceed $300,000", ""),
        ("one third of the size", "one third", ""),
        ("not more than 5 mSv", "at most 5 mSv", ""),
        ("5 million dollars", "$5,000,000", ""),
        ("1.5 and 3.0 T", "1.5T or 3T", ""),
        ("10⁵ cells", "10<sup>5</sup> cells", ""),
        ("one calendar month", "plus or minus one calendar\nmonth", ""),
        ("5 mSv", "a limit of 5\nmSv", ""),
        ("September 30, 2008", "on September \n30, 2008", ""),
        ("120/80 mm Hg", "a pressure of 120/80 mmHg", ""),
    ],
)
def test_supported(statement: str, quote: str, context: str) -> None:
    assert wrong(statement, quote, context) == 0


@pytest.mark.parametrize(
    ("statement", "quote", "context"),
    [
        ("50 mSv", "20 mSv", ""),
        ("50 mSv", "50 mGy", ""),
        ("50 mSv", "50 rem", "limits in mSv"),
        ("1 mL", "up to 1,000 mL", ""),
        ("45 days", "сорока пяти рабочих дней", ""),
        ("at most 5 mSv", "at least 5 mSv", ""),
        ("не более 5 мЗв", "не менее 5 мЗв", ""),
        ("4 W", "4 W/kg", ""),
        ("50 workers", "50 mSv", ""),
        ("from T11 to L3", "T12 to L3", ""),
        ("16 mSv", "the rule", "Article 16"),
        ("0.5 mSv", "500 µSv", ""),
        ("5 mm", "5 cm", ""),
        ("103 cells", "10³ cells", ""),
        ("8 June 1988", "7 June 1988", ""),
        ("12 months", "six months", ""),
        ("−5 °C", "5 °C", ""),
        ("15 rem", "| Lens | 15 |", "| Part | Limit (mSv) |"),
        ("§ 892.1980", "a diaphanoscope", "§ 892.1990 Transilluminator"),
        ("5300 people", "5\n300 people", ""),
        ("5 Gy and 7 Gy", "5 Gy", ""),
    ],
)
def test_unsupported(statement: str, quote: str, context: str) -> None:
    assert wrong(statement, quote, context) > 0


def test_numbers_may_come_from_several_quotes() -> None:
    supports = [
        read_support(quote, "", decimal_comma=False) for quote in ("5 mSv for adults", "1 mSv for minors")
    ]
    claims = read_claims("5 mSv for adults, 1 mSv for minors")
    assert unsupported(claims, supports) == 0
    assert unsupported(claims, supports[:1]) == 1
