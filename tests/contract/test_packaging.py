"""What is published can be built, holds what it should, and works where nothing else of ours lies."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import hivemind

ROOT = Path(__file__).parents[2]
FIRST_THINGS = ("tests/journeys/test_first_hour.py", "tests/journeys/test_hook.py", "tests/mcp/test_server.py")
UNWANTED = ("cacheprovider", "xdist", "cov")
SOME = "the_fitting_first or trace_is_stored or a_hook_saw or starts_with_the_brief or one_agent_remembers or shakes"
"""One of each kind; 'dev/test-wheel' runs all, in an environment with its own copy of everything."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(place), str(ROOT)],
        check=True,
        capture_output=True,
    )
    return place


def test_the_wheel_holds_the_package_and_the_sdist_what_it_takes_to_test_it(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        installed = wheel.namelist()
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        shipped = [name.partition("/")[2] for name in sdist.getnames()]

    package = ROOT / "src" / "hivemind"
    wanted = {
        f"hivemind/{file.relative_to(package)}"
        for file in package.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert {name for name in installed if name.startswith("hivemind/")} == wanted
    assert {name.partition("/")[0].partition("-")[0] for name in installed} == {"hivemind", "hivemind_memory"}
    assert any(name.endswith("licenses/LICENSE") for name in installed)
    assert {"README.md", "CHANGELOG.md", "dev/test", "tests/conftest.py", "docs/glossary.md", "lab/README.md"} <= set(
        shipped
    )


def test_the_citation_names_the_version_of_the_package() -> None:
    assert f"\nversion: {hivemind.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_the_tests_run_with_pinned_versions_that_the_package_allows() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = (ROOT / "dev" / "constraints.txt").read_text("utf-8").splitlines()
    pins = {canonicalize_name(line.partition("==")[0]): line.partition("==")[2] for line in lines if line[0] != "#"}

    extras = project["optional-dependencies"]
    wanted = [Requirement(text) for text in (*project["dependencies"], *extras["hub"], *extras["dev"])]
    others = [requirement for requirement in wanted if requirement.name != project["name"]]

    assert len(others) > 40
    assert [str(one) for one in others if not one.specifier.contains(pins.get(canonicalize_name(one.name), "0"))] == []


def test_the_installed_wheel_does_what_the_source_does(built: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    python = tmp_path / "venv" / "bin" / "python"
    place = Path(
        sysconfig.get_path("purelib", "venv", vars={"base": str(tmp_path / "venv"), "platbase": str(tmp_path / "venv")})
    )
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        wheel.extractall(place)
    # What we depend on is borrowed from here; a .pth file in a borrowed directory is not read, so our source is not.
    (place / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n" + sysconfig.get_path("platlib") + "\n")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("COV_", "PYTEST_"))}

    where = subprocess.run(
        [python, "-c", "import hivemind; print(hivemind.__file__)"], check=True, capture_output=True, text=True
    )
    done = subprocess.run(
        [
            python,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "-p",
            "no:cov",
            "-k",
            SOME,
            *FIRST_THINGS,
        ],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )

    assert Path(where.stdout.strip()).is_relative_to(place)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "8 passed" in done.stdout
