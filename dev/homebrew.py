"""Write the Homebrew formula, ``Formula/hivemind-memory.rb``, from pyproject.toml: ``python dev/homebrew.py``.

With the formula in this folder the repository is a tap of its own; Homebrew looks for it in the root.
"""

import tomllib
from pathlib import Path

import hivemind

ROOT = Path(__file__).parents[1]
FORMULA = ROOT / "Formula" / "hivemind-memory.rb"
PYTHON = "3.13"
"""The newest version that the package was run with; see docs/explanation/inside.md."""
# A tag of a git repository needs no checksum, so the formula can be written before the release exists.
# Dependencies come as wheels, because formulas that list each source would need a compiler for 25 grammars.
TEMPLATE = """\
# Written by dev/homebrew.py from pyproject.toml; do not edit.
class HivemindMemory < Formula
  include Language::Python::Virtualenv

  desc "{description}"
  homepage "{homepage}"
  url "{homepage}.git", tag: "v{version}"
  license "{license}"
  head "{homepage}.git", branch: "main"

  depends_on "python@{python}"

  def install
    virtualenv_create(libexec, "python{python}")
    system "python{python}", "-m", "pip", "--python=#{{libexec}}/bin/python", "install", buildpath
    bin.install_symlink {programs}
  end

  test do
    ENV["HIVEMIND_HOME"] = testpath/"home"
    system bin/"hivemind", "remember", "Deploys run from main only"
    assert_match "from main", shell_output("#{{bin}}/hivemind recall deploys")
  end
end
"""


def make_formula() -> str:
    """Return the formula for the present version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return TEMPLATE.format(
        description=project["description"], homepage=project["urls"]["Homepage"], license=project["license"],
        version=hivemind.__version__, python=PYTHON,
        programs=", ".join(f'libexec/"bin/{program}"' for program in project["scripts"]),
    )  # fmt: skip


if __name__ == "__main__":
    FORMULA.write_text(make_formula(), "utf-8")
