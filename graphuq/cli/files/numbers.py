"""From a column of a table to numbers: plain ones, decimal commas, dates, yes and no."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from graphuq.cli.files.columns import ANSWERS, DATES, NUMBERS, ColumnForm
from graphuq.cli.files.thousands import may_be_thousands
from graphuq.utils.typing import Array

# A whole number that begins with 0, as postal codes do.
PADDED = re.compile(r"0\d{2,}")

# Answers that count as numbers.
VALUES = {"y": 1.0, "yes": 1.0, "t": 1.0, "true": 1.0, "n": -1.0, "no": -1.0, "f": -1.0,
           "false": -1.0}  # fmt: skip

# A number with commas: as the decimal mark, and between thousands.
DECIMAL_COMMA = r"[+-]?(?:\d*|[1-9]\d{0,2}(?:\.\d{3})+),\d+(?:[eE][+-]?\d+)?"
THOUSANDS = r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?"
EITHER = r"[+-]?[1-9]\d{0,2},\d{3}"  # 1,234 may be either
WITHOUT_COMMA = r"[+-]?(?:\d+|[1-9]\d{0,2}(?:\.\d{3})+)(?:[eE][+-]?\d+)?"
MANY_THOUSANDS = r"[+-]?[1-9]\d{0,2}(?:\.\d{3}){2,}"
POINTED = r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?"

# Blanks, also narrow ones, and apostrophes between thousands: 1 234,5 and 1'234.5.
BETWEEN_THOUSANDS = r"(?<=\d)[ \u00a0\u202f'\u2019](?=\d{3}(?!\d))"

# Numbers with points are few if this many times as many have a decimal comma.
FEW = 10

# A currency before or behind the numbers of a column, or behind them a unit or the end of a scale,
# as in 8/10. Other letters may be part of an id, a code or a category.
SYMBOL = r"[$¢£¥\u20a0-\u20cf%‰°]"
CURRENCIES = "USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|TRY"
UNITS = (
    "kg|g|mg|µg|μg|lbs?|oz|km|m|cm|mm|µm|μm|nm|mi|ft|km/h|kmh|mph|m/s|h|hrs?|min|s|sec|ms|l|ml|dl|"
    "kW|kWh|MWh|GWh|Hz|kHz|MHz|GHz|kJ|kcal|hPa|kPa|mbar|bar|psi|°C|°F|ppm|ppb|kB|KB|MB|GB|TB|"
    r"years?|yrs?|months?|weeks?|days?|hours?|minutes?|seconds?|/\s?\d+"
)
WITH_SYMBOL = (
    rf"^([+-]?)\s*({SYMBOL}|(?:{CURRENCIES})(?=\s))?\s*([+-]?[\d.,]+(?:[eE][+-]?\d+)?)\s*"
    rf"({SYMBOL}|{UNITS}|{CURRENCIES})?$"
)
# Where a word of time lacks the s of its plural.
PLURAL = r"(?<=year|week|hour|nute|cond|onth)$|(?<=day)$"
PROBE = rf"{SYMBOL}|\d\s*(?:{UNITS}|{CURRENCIES})$|^(?:{CURRENCIES})\s"

# A negative number in brackets.
ACCOUNTED = rf"^\(\s*({SYMBOL}?\s*[\d.,]+\s*{SYMBOL}?)\s*\)$"

# The first texts tell whether a column may have one.
N_PROBED = 20

# What most misfits are.
NOT_A_NUMBER = "not a number"

# Dates: the year first, with or without a time; with the name of the month; days before months; or
# an order to find out.
YEAR_FIRST = r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[T ]\d{1,2}:\d{2}.*)?|\d{4}-\d{2}"
SEASON = r"^(\d{4})-(\d{2})$"
MONTH = r"(?i:(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?)"
NAMED_MONTH = (
    rf"{MONTH} \d{{1,2}},? \d{{4}}|(?:\d{{1,2}}[ -])?{MONTH}[ -]\d{{4}}|"
    rf"\d{{1,2}}[ -]{MONTH}[ -]\d{{2}}"
)
DAY_FIRST = r"\d{1,2}\.\d{1,2}\.(?:\d{4}|\d{2})"
UNCLEAR = r"(\d{1,2})([/-])(\d{1,2})\2(\d{4}|\d{2})(?: \d{1,2}:\d{2}.*)?"

# A year of two digits, at the end of a date. Up to the first of these limits it is one of this
# century, and from the second on one of the last; between them it may be either.
SHORT_YEAR = r"^(\D*\d{1,2}\D+(?:\d{1,2}\D+)?)(\d{2})((?: \d{1,2}:\d{2}.*)?)$"
THIS_CENTURY, LAST_CENTURY = 40, 70


# The dates that 64 bits hold in nanoseconds; others are marks.
MAX_DAYS = 106_000

REWRITE = "write dates as YYYY-MM-DD"


class AmbiguousColumnError(ValueError):
    """A column that can be read in two ways, or only in another way than an option says.

    Attributes
    ----------
    fault, remedy : str
    rewrite : str
        How to write the values, where no option can be used.
    """

    def __init__(self, fault: str, remedy: str, rewrite: str) -> None:
        self.fault, self.remedy, self.rewrite = fault, remedy, rewrite
        super().__init__(f"{fault}: {remedy}")


class Numbers(NamedTuple):
    """Numbers, NaN where a value is missing or invalid, and how they were read."""

    values: Array
    form: ColumnForm


def read_numbers(column: pd.Series, decimal: str | None = None) -> Numbers | None:
    """Return a column as numbers, or None if it is mostly text.

    Dates become days since 1970, and yes and no become 1 and -1.

    Parameters
    ----------
    column : Series
    decimal : {".", ","}, optional
        The decimal mark; by default that of the column.

    Raises
    ------
    AmbiguousColumnError
        Numbers such as 1,234, or dates such as 03/04/2020, in all rows; numbers with the other
        decimal mark than ``decimal``.

    Examples
    --------
    >>> values, form = read_numbers(pd.Series(["2,5", "3", "x"]))
    >>> values, form.form, form.decimal
    (array([2.5, 3. , nan]), 'numbers', ',')
    >>> read_numbers(pd.Series(["1970-01-03", None])).values
    array([ 2., nan])
    """
    if pd.api.types.is_bool_dtype(column):
        answers = column.astype(object).map({True: 1.0, False: -1.0})
        return Numbers(answers.to_numpy(dtype=np.float64, na_value=np.nan), ColumnForm(ANSWERS))
    if pd.api.types.is_datetime64_any_dtype(column):
        return Numbers(_to_days(column), ColumnForm(DATES))
    plain = ColumnForm(NUMBERS, decimal)
    if pd.api.types.is_timedelta64_dtype(column):
        return Numbers(column.dt.total_seconds().to_numpy(dtype=np.float64), plain)
    if pd.api.types.is_complex_dtype(column):
        return None
    if pd.api.types.is_numeric_dtype(column):
        return Numbers(column.to_numpy(dtype=np.float64, na_value=np.nan), plain)
    texts = column.dropna().astype(str).str.strip()
    if texts.empty:
        return Numbers(np.full(len(column), np.nan), plain)
    found = _read_texts(texts, decimal)
    if found is None:
        return None
    values, form = found
    return Numbers(values.reindex(column.index).to_numpy(dtype=np.float64), form)


def _read_texts(texts: pd.Series, decimal: str | None) -> tuple[pd.Series, ColumnForm] | None:
    """Return texts as numbers, NaN where invalid, and their form; None if most are text."""
    answers = texts.str.lower().map(VALUES)
    if answers.notna().all():
        return answers.astype(float), ColumnForm(ANSWERS)
    texts = texts.str.replace(BETWEEN_THOUSANDS, "", regex=True)
    texts, symbol = _without_symbol(_with_plain_signs(texts))
    with_comma = texts.str.contains(",", regex=False)
    mark = decimal or (_find_decimal_mark(texts, texts[with_comma]) if with_comma.any() else ".")
    if not with_comma.any() and texts.str.fullmatch(MANY_THOUSANDS).any():
        mark = decimal or ("," if may_be_thousands(texts) else ".")
    numbers, shown = _with_mark(texts, mark)
    if decimal is not None:
        _require_mark(texts, numbers, decimal)
    if 2 * numbers.notna().sum() > len(texts):
        name = f"{NUMBERS} with {symbol}" if symbol else NUMBERS
        return numbers, ColumnForm(name, decimal or shown)
    dates = _read_dates(texts)
    return None if dates is None else (dates, ColumnForm(DATES))


def _with_plain_signs(texts: pd.Series) -> pd.Series:
    """Return texts with a hyphen for the sign of minus, and for the brackets of accountants."""
    texts = texts.str.replace("\u2212", "-", regex=False)
    return texts.str.replace(ACCOUNTED, r"-\1", regex=True)


def _without_symbol(texts: pd.Series) -> tuple[pd.Series, str]:
    """Return texts without the currency or unit that most of them have, and this symbol.

    Texts without it, or with another one, are invalid then: 0.5 beside 50% may be either. Only 0
    needs none.
    """
    if not texts.iloc[:N_PROBED].str.contains(PROBE).any():
        return texts, ""
    parts = texts.str.extract(WITH_SYMBOL).fillna("")
    signs = (parts[1] + parts[3]).str.replace(PLURAL, "s", regex=True)
    symbol = str(signs.mode().iloc[0])
    if not symbol or 2 * (signs == symbol).sum() <= len(texts):
        return texts, ""
    if symbol.startswith("/") and not (signs == symbol).all():  # fractions
        return texts, ""
    fits = (signs == symbol) | texts.isin(["0"])
    return (parts[0] + parts[2]).where(fits, "invalid"), symbol


def _with_mark(texts: pd.Series, mark: str) -> tuple[pd.Series, str | None]:
    """Return numbers with this decimal mark, NaN for other texts; and the mark if they show it."""
    if mark == ".":
        return _without_thousands(texts)
    spelled = texts.str.fullmatch(DECIMAL_COMMA) | texts.str.fullmatch(WITHOUT_COMMA)
    with_points = texts.str.replace(".", "", regex=False).str.replace(",", ".")
    return pd.to_numeric(with_points.where(spelled), errors="coerce"), ","


def _require_mark(texts: pd.Series, numbers: pd.Series, decimal: str) -> None:
    """Refuse a decimal mark under which fewer texts are numbers than under the other."""
    other, name, given = (",", "comma", "point") if decimal == "." else (".", "point", "comma")
    alike, _ = _with_mark(texts, other)
    odd = texts[alike.notna() & numbers.isna() & texts.str.contains(other, regex=False)]
    if odd.size > numbers.notna().sum() and 2 * alike.notna().sum() > len(texts):
        raise AmbiguousColumnError(
            f"{odd.iloc[0]!r} has a decimal {name}, where a decimal {given} is expected",
            "leave out --decimal",
            f"write numbers with a decimal {given}",
        )


def first_misfit(column: pd.Series) -> tuple[int, str]:
    """Return the row of the first value that keeps a column from being numbers, and what it is not.

    Examples
    --------
    >>> first_misfit(pd.Series(["n", "y", "y", "maybe"]))
    (3, 'neither yes nor no, as most values of the column are')
    >>> first_misfit(pd.Series(["1", "low", "high"]))
    (1, 'not a number')
    """
    known, texts = column.notna(), column.astype(str).str.strip()
    fits = texts.str.lower().isin(list(VALUES))
    mostly_answers = 2 * (fits & known).sum() > known.sum()
    if not mostly_answers:
        fits |= pd.to_numeric(texts, errors="coerce").notna()
    odd = known & ~fits
    row = int(np.flatnonzero(odd if odd.any() else known)[0])
    if mostly_answers:
        return row, "neither yes nor no, as most values of the column are"
    return row, NOT_A_NUMBER


def _find_decimal_mark(texts: pd.Series, with_comma: pd.Series) -> str:
    """Return the decimal mark of a column with commas."""
    plain = texts.str.fullmatch(DECIMAL_COMMA) & ~texts.str.fullmatch(THOUSANDS)
    n_pointed = texts.str.fullmatch(POINTED).sum()
    if FEW * n_pointed > plain.sum():  # a few points may stand between thousands
        return "."
    if with_comma.str.fullmatch(THOUSANDS).all():
        if with_comma.str.fullmatch(EITHER).all():
            first = with_comma.iloc[0]
            raise AmbiguousColumnError(
                f"{first!r} may be {float(first.replace(',', '.')):g} or {first.replace(',', '')}",
                "--decimal comma, --decimal point",
                "write numbers with a decimal point, and without commas",
            )
        return "."
    return "," if with_comma.str.fullmatch(DECIMAL_COMMA).any() else "."


def _without_thousands(texts: pd.Series) -> tuple[pd.Series, str | None]:
    """Return numbers with a decimal point, and maybe commas between thousands, which show it."""
    grouped = texts.str.fullmatch(THOUSANDS)
    plain = texts.where(~grouped, texts.str.replace(",", "", regex=False))
    return pd.to_numeric(plain, errors="coerce"), "." if grouped.any() else None


def _read_dates(texts: pd.Series) -> pd.Series | None:
    """Return dates as days since 1970, NaN where invalid; None if most texts are not dates."""
    orders = {YEAR_FIRST: False, NAMED_MONTH: False, DAY_FIRST: True, UNCLEAR: None}
    pattern = next((p for p in orders if 2 * texts.str.fullmatch(p).sum() > len(texts)), None)
    if pattern is None:
        return None
    years = texts.str.extract(SEASON).dropna().astype(int)
    months = years[1].between(1, 12)
    if len(years) and (not months.all() or ((years[0] + 1) % 100 == years[1]).all()):
        return None  # seasons such as 2009-10
    spelled, day_first = texts[texts.str.fullmatch(pattern)], orders[pattern]
    spelled = _with_long_years(spelled)
    if day_first is None:
        parts = spelled.str.extract(UNCLEAR)
        firsts, seconds = (parts[k].astype(int).max() for k in (0, 2))
        if (firsts > 12) == (seconds > 12):
            raise AmbiguousColumnError(
                f"{texts[spelled.index[0]]!r} may begin with the day or with the month",
                REWRITE,
                REWRITE,
            )
        day_first = firsts > 12
    try:
        dates = pd.to_datetime(
            spelled, format="mixed", dayfirst=bool(day_first), errors="coerce", utc=True
        )
        days = pd.Series(_to_days(dates), spelled.index)
    except (ValueError, OverflowError):  # in some versions of pandas, in spite of errors="coerce"
        days = pd.Series(np.inf, spelled.index)
    if (days.abs() > MAX_DAYS).any():
        years = spelled.str.extract(r"(\d{4})")[0].astype(float)
        text, remedy = spelled[(years - 1970).abs().idxmax()], "make it blank if it marks no date"
        raise AmbiguousColumnError(f"{text!r} is before 1680 or after 2260", remedy, remedy)
    return days.reindex(texts.index)


def _with_long_years(dates: pd.Series) -> pd.Series:
    """Return dates with years of four digits; ask about those that may be of two centuries."""
    short = dates.str.extract(SHORT_YEAR)[1]
    known = short.dropna().astype(int)
    if known.empty:
        return dates
    # 21/05/27 may begin with the year, and 5/27/21 and 27/05/98 do not
    parts = dates.str.extract(UNCLEAR)
    may_be_first = (
        known.max() <= 31 and (parts[0].str.len() == 2).all() and parts[2].astype(float).max() <= 12
    )
    if may_be_first:
        raise AmbiguousColumnError(
            f"{dates.iloc[0]!r} may begin with the year, the day or the month", REWRITE, REWRITE
        )
    if not ((known <= THIS_CENTURY).all() or (known >= LAST_CENTURY).all()):
        between = known[(known > THIS_CENTURY) & (known < LAST_CENTURY)]
        year = int(between.iloc[0] if len(between) else known.max())
        raise AmbiguousColumnError(
            f"the year {year:02d} in {dates[known.index[known == year][0]]!r} may be 19{year:02d} "
            f"or 20{year:02d}",
            REWRITE,
            REWRITE,
        )
    century = "20" if known.max() <= THIS_CENTURY else "19"
    return dates.str.replace(SHORT_YEAR, rf"\g<1>{century}\2\3", regex=True)


def _to_days(dates: pd.Series) -> Array:
    """Return days since 1970, NaN where there is no date."""
    if dates.dt.tz is not None:
        dates = dates.dt.tz_convert(None)
    days = dates.to_numpy("datetime64[us]") - np.datetime64(0, "us")
    return np.asarray(days / np.timedelta64(1, "D"), dtype=np.float64)


def is_number(text: str) -> bool:
    """Whether a text is a number with a decimal point.

    Examples
    --------
    >>> is_number("1e3"), is_number("1,5")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True
