"""The repository that the tasks are set in: a small shop, built with real history."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

IDENTITY = {
    **{f"GIT_{who}_NAME": "Ada" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "ada@example.org" for who in ("AUTHOR", "COMMITTER")},
    **dict.fromkeys(("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"), os.devnull),
}

START = {
    "README.md": "# Shop\n\nInvoices, prices and reports. `python -m shop.report FILE` adds up a file.\n",
    "shop/__init__.py": '"""A small shop."""\n',
    "shop/errors.py": '"""What can go wrong."""\n\n\nclass ShopError(Exception):\n    """Told to a customer."""\n',
    "shop/invoice.py": '''"""Invoices."""

from shop.rates import worth


def total(rows, currency="EUR"):
    """What all lines cost, in euros."""
    return sum(worth(float(row["price"]), currency) * float(row["qty"]) for row in rows)
''',
    "shop/rates.py": '''"""What a currency is worth."""

RATES = {
    "EUR": 1.0,
    "USD": 1.09,
    "GBP": 0.86,
}


def worth(amount, currency):
    """An amount in euros."""
    return amount / RATES[currency]
''',
    "shop/parse.py": '''"""What people type, as numbers."""


def parse_amount(text):
    """'12.50 EUR' as amount and currency."""
    amount, _, currency = text.partition(" ")
    if len(currency) != 3:
        raise ValueError(f"{text!r} names no currency")
    return float(amount), currency


def parse_count(text):
    """'3 x' as 3."""
    number, _, times = text.partition(" ")
    if times != "x":
        raise ValueError(f"{text!r} is not a count")
    return int(number)
''',
    "shop/pricing.py": '''"""Prices and what is taken off them."""


def discounted(price, percent):
    """A price less so many percent."""
    return round(price * (100 - percent) / 100, 2)
''',
    "shop/report.py": '''"""What was sold: python -m shop.report FILE."""

import csv
import sys


def sold(rows):
    """What all lines of an export come to."""
    return sum(float(row["price"]) * float(row["qty"]) for row in rows)


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        print(f"{sold(csv.DictReader(file)):.2f}")
''',
    "data/march.csv": "item,price\npen,2.50\nbook,10.00\n",
    "data/april.csv": "item,price,qty\npen,2.50,2\nbook,10.00,\n",
}

FIXED = {
    "shop/rows.py": '''"""Rows as the exporter writes them: it leaves out what goes without saying."""

UNSAID = {"price": "0", "qty": "1"}


def field(row, name):
    """A column of a row, or what it means to leave it out."""
    return row.get(name) or UNSAID[name]
''',
    "shop/invoice.py": START["shop/invoice.py"]
    .replace("from shop.rates import worth\n", "from shop.rates import worth\nfrom shop.rows import field\n")
    .replace('row["price"]', 'field(row, "price")')
    .replace('row["qty"]', 'field(row, "qty")'),
}

MOVED = {
    "shop/money.py": '''"""What a currency is worth today."""

TABLE = {
    "EUR": 1.0,
    "USD": 1.09,
    "GBP": 0.86,
}


def in_euros(amount, currency):
    """An amount in euros."""
    return amount / TABLE[currency]
''',
    "shop/rates.py": '''"""What a currency was worth in invoices from before the euro."""

RATES = {"EUR": 1.0, "DEM": 1.95583, "FRF": 6.55957}


def worth(amount, currency):
    """An old amount in euros."""
    return amount / RATES[currency]
''',
    "shop/archive.py": '"""Old invoices."""\n\nfrom shop.rates import worth\n\n\ndef old_total(amounts, currency):\n'
    '    """What an old invoice came to."""\n    return sum(worth(amount, currency) for amount in amounts)\n',
    "shop/invoice.py": FIXED["shop/invoice.py"]
    .replace("from shop.rates import worth\n", "from shop.money import in_euros\n")
    .replace("worth(", "in_euros("),
    "shop/quote.py": '"""Offers to customers."""\n\nfrom shop.money import in_euros\n\n\ndef quote(amount, currency):\n'
    '    """An offer in euros."""\n    return round(in_euros(amount, currency), 2)\n',
}


def build(root: Path) -> None:
    """The shop as it was when the notes were taken."""
    root.mkdir(parents=True)
    git(root, "init", "--quiet", "--initial-branch=main")
    commit(root, START, "Start the shop", "2026-01-05T09:00:00Z")
    told = "Fix KeyError in invoices: rows of the exporter may lack columns"
    commit(root, FIXED, told, "2026-02-02T09:00:00Z")


def build_other(root: Path) -> None:
    """Another project of the same person."""
    root.mkdir(parents=True)
    git(root, "init", "--quiet", "--initial-branch=main")
    commit(root, {"README.md": "# Garden\n"}, "Plant the garden", "2025-06-01T09:00:00Z")


def move_on(root: Path) -> None:
    """What happened to the code since."""
    commit(root, MOVED, "Keep today's rates in a table of their own", "2026-03-02T09:00:00Z")


def commit(root: Path, files: Mapping[str, str], message: str, at: str) -> None:
    """Write files and commit them at a moment, so that every build is the same."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", message, at=at)


def git(root: Path, *arguments: str, at: str = "") -> str:
    """Real git, with nothing of this machine's configuration."""
    moment = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at} if at else {}
    environ = os.environ | IDENTITY | moment
    done = subprocess.run(["git", *arguments], cwd=root, env=environ, check=True, capture_output=True, text=True)
    return done.stdout
