"""The Homebrew formula matches pyproject.toml."""

import re
import tomllib

import hivemind
from dev.homebrew import FORMULA, PYTHON, ROOT, make_formula


def test_the_formula_is_what_the_script_writes() -> None:
    assert FORMULA.read_text("utf-8") == make_formula(), "run python dev/homebrew.py"


def test_the_formula_installs_the_present_version_and_every_program() -> None:
    formula = FORMULA.read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert f'tag: "v{hivemind.__version__}"' in formula
    assert f"Programming Language :: Python :: {PYTHON}" in project["classifiers"]
    assert set(re.findall(r'libexec/"bin/([\w-]+)"', formula)) == set(project["scripts"])
    assert "{" not in formula.replace("#{", "")
