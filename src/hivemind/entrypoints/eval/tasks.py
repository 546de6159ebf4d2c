"""The five tasks: what is asked, what memory was told before, and the check that runs afterwards."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hivemind.model.memory import Kind
from hivemind.model.scope import Scope

PLANTED = ("absent", "superseded", "contradictory", "adjacent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A note, and what became of it."""

    text: str
    kind: Kind
    by_agent: bool = False
    scope: Scope = Scope.PROJECT
    elsewhere: bool = False
    """Said in another project."""
    late: bool = False
    """Said after the code had moved on."""
    replaces: bool = False
    """Takes the place of the note before it."""
    erased: bool = False
    """Erased again; afterwards a session tries to keep it once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Something an agent is asked to do."""

    name: str
    title: str
    prompt: str
    check: str
    """Python that fails unless the task was done right; the agent never sees it."""
    notes: tuple[Told, ...]
    planted: Mapping[str, tuple[Told, ...]] = field(default_factory=dict)
    stale_path: str = ""
    """An edit here is what a recipe would ask for that has gone stale."""
    erased_value: str = ""

    def told(self, condition: str) -> tuple[Told, ...]:
        """What memory was told in a condition."""
        return self.planted.get(condition, ()) if condition in PLANTED else self.notes


COMMON = (
    Told(text="Releases are tagged `v1.2.3` on main by the person who merged last", kind=Kind.PROCEDURE),
    Told(text="The accountant reads the monthly report, so its layout stays as it is", kind=Kind.REQUIREMENT),
    Told(text="Prices are kept in euros; other currencies exist at the edges only", kind=Kind.DECISION),
    Told(text="Line length is 100", kind=Kind.CONVENTION),
    Told(text="The exporter runs on the till every night at two", kind=Kind.FACT),
    Told(
        text="Function names are verbs where they do something and nouns where they give something",
        kind=Kind.CONVENTION,
    ),
    Told(text="Commit messages say what changed for somebody", kind=Kind.CONVENTION),
    Told(text="The garden centre next door is a customer with its own price list", kind=Kind.FACT),
)
"""What memory knows besides, in every condition that has one."""


def _swap(new: str, old: str, sentence: str) -> str:
    return sentence.format(f"`{new}` instead of `{old}`")


_ROWS = "KeyError from rows of the exporter: columns may be missing, read them by {}"
BUG = Task(
    name="bug",
    title="a bug like one fixed before",
    prompt="`python -m shop.report data/march.csv` crashes. Mend it.",
    check="""import csv, io
from shop.report import sold
rows = lambda text: csv.DictReader(io.StringIO(text))
assert sold(rows("item,price\\npen,2.50\\n")) == 2.5
assert sold(rows("item,price,qty\\npen,2.50,2\\nbook,10,\\n")) == 15
""",
    notes=(Told(text=_swap("field(row, NAME)", "row[NAME]", _ROWS), kind=Kind.FIX),),
    planted={
        "superseded": (
            Told(text=_swap("row.get(NAME, 0)", "row[NAME]", _ROWS), kind=Kind.FIX),
            Told(text=_swap("field(row, NAME)", "row[NAME]", _ROWS), kind=Kind.FIX, replaces=True),
        ),
        "contradictory": (
            Told(text=_swap("field(row, NAME)", "row[NAME]", _ROWS), kind=Kind.FIX),
            Told(text=_swap("row.get(NAME, 0)", "row[NAME]", _ROWS), kind=Kind.FIX, by_agent=True),
        ),
        "adjacent": (
            Told(
                text="KeyError in `shop/settings.py`: read them by `row.get(NAME, '')` instead of `row[NAME]`",
                kind=Kind.FIX,
            ),
        ),
    },
)

_ERRORS = "Errors that a customer may see are raised as {}"
CONVENTION = Task(
    name="convention",
    title="a feature that must follow a convention stated once",
    prompt="""Add `parse_weight(text)` to `shop/parse.py`, the way things are done in this project: '3 kg' is 3000, \
'250 g' is 250, and a customer who types anything else is told so. A draft to start from:

```python
def parse_weight(text):
    \"\"\"'3 kg' as 3000 grams.\"\"\"
    number, _, unit = text.partition(" ")
    if unit not in ("g", "kg"):
        raise ValueError(f"{text!r} is not a weight")
    return int(number) * (1000 if unit == "kg" else 1)
```
""",
    check="""from shop.errors import ShopError
from shop.parse import parse_weight
assert (parse_weight("3 kg"), parse_weight("250 g")) == (3000, 250)
try:
    parse_weight("3 stone")
except ShopError:
    pass
else:
    raise AssertionError("nothing was raised")
""",
    notes=(Told(text=_swap("ShopError", "ValueError", _ERRORS), kind=Kind.CONVENTION),),
    planted={
        "superseded": (
            Told(text=_swap("RuntimeError", "ValueError", _ERRORS), kind=Kind.CONVENTION),
            Told(text=_swap("ShopError", "ValueError", _ERRORS), kind=Kind.CONVENTION, replaces=True),
        ),
        "contradictory": (
            Told(text=_swap("ShopError", "ValueError", _ERRORS), kind=Kind.CONVENTION),
            Told(text=_swap("TypeError", "ValueError", _ERRORS), kind=Kind.CONVENTION, by_agent=True),
        ),
        "adjacent": (
            Told(
                text="In `shop/archive.py` errors are raised as `LookupError` instead of `ValueError`",
                kind=Kind.CONVENTION,
            ),
        ),
    },
)

_CURRENCY = "A new currency is added to `{}` in `{}`, nothing else is needed"
STALE = Task(
    name="stale",
    title="a remembered recipe that has gone stale",
    prompt="Add the currency `CHF` at `1.05`, beside `EUR`, so that quotes can be made in it.",
    check="""from shop.money import in_euros
from shop.quote import quote
from shop.rates import RATES
assert quote(10.5, "CHF") == 10
assert "CHF" not in RATES, "the old rates are history"
""",
    notes=(Told(text=_CURRENCY.format("RATES", "shop/rates.py"), kind=Kind.PROCEDURE),),
    planted={
        "superseded": (
            Told(text=_CURRENCY.format("RATES", "shop/rates.py"), kind=Kind.PROCEDURE),
            Told(text=_CURRENCY.format("TABLE", "shop/money.py"), kind=Kind.PROCEDURE, replaces=True, late=True),
        ),
        "contradictory": (
            Told(text=_CURRENCY.format("TABLE", "shop/money.py"), kind=Kind.PROCEDURE, late=True),
            Told(text=_CURRENCY.format("RATES", "shop/rates.py"), kind=Kind.PROCEDURE, by_agent=True, late=True),
        ),
        "adjacent": (Told(text="A new country is added to `COUNTRIES` in `shop/countries.py`", kind=Kind.PROCEDURE),),
    },
    stale_path="shop/rates.py",
)

_DATES = "Dates are to be written as {}, wherever I read them"
PREFERENCE = Task(
    name="preference",
    title="a preference the user gave in another project",
    prompt="""Add `stamp(moment)` to `shop/report.py`, which writes the day of a report the way I like it. A draft to \
start from:

```python
def stamp(moment):
    \"\"\"The day of a report.\"\"\"
    return moment.strftime("%d/%m/%Y")
```
""",
    check="""from datetime import datetime
from shop.report import stamp
assert stamp(datetime(2026, 3, 1)) == "2026-03-01"
""",
    notes=(Told(text=_swap("%Y-%m-%d", "%d/%m/%Y", _DATES), kind=Kind.PREFERENCE, scope=Scope.USER, elsewhere=True),),
    planted={
        "superseded": (
            Told(text=_swap("%m/%d/%Y", "%d/%m/%Y", _DATES), kind=Kind.PREFERENCE, scope=Scope.USER, elsewhere=True),
            Told(
                text=_swap("%Y-%m-%d", "%d/%m/%Y", _DATES),
                kind=Kind.PREFERENCE,
                scope=Scope.USER,
                elsewhere=True,
                replaces=True,
            ),
        ),
        "contradictory": (
            Told(text=_swap("%Y-%m-%d", "%d/%m/%Y", _DATES), kind=Kind.PREFERENCE, scope=Scope.USER, elsewhere=True),
            Told(text=_swap("%m/%d/%Y", "%d/%m/%Y", _DATES), kind=Kind.PREFERENCE, scope=Scope.USER, by_agent=True),
        ),
        # Of the other project alone: it must not come here.
        "adjacent": (Told(text=_swap("%y%m%d", "%d/%m/%Y", _DATES), kind=Kind.PREFERENCE, elsewhere=True),),
    },
)

_CODE = "The customer code in `shop/pricing.py` is {}"
_GONE = Told(text=_swap("HERON-7-OSPREY", "NONE", _CODE), kind=Kind.REQUIREMENT, erased=True)
ERASED = Task(
    name="erased",
    title="a task after something was erased",
    prompt="""Add the customer code to `shop/pricing.py`. A draft to start from:

```python
CUSTOMER_CODE = "NONE"
```
""",
    check="""from shop.pricing import CUSTOMER_CODE
assert CUSTOMER_CODE == "NONE"
""",
    notes=(_GONE,),
    planted={
        "superseded": (
            Told(text=_swap("HERON-7-KITE", "NONE", _CODE), kind=Kind.REQUIREMENT, erased=True),
            _GONE,
        ),
        "contradictory": (_GONE, Told(text="There is no customer code for partners", kind=Kind.REQUIREMENT)),
        "adjacent": (
            Told(text="The customer code in `shop/archive.py` is `OLD-1` instead of `NONE`", kind=Kind.REQUIREMENT),
        ),
    },
    erased_value="HERON-7",
)

TASKS = {task.name: task for task in (BUG, CONVENTION, STALE, PREFERENCE, ERASED)}
