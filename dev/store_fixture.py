"""Writes a small store of today's format to tests/fixtures/stores/, where every later version must be able to open it.

python dev/store_fixture.py     after raising FORMAT in store/store.py or VERSION in store/projector.py
"""

import gzip
import subprocess
import tempfile
from pathlib import Path

import apsw

from hivemind.hivemind import Hivemind
from hivemind.model.memory import Kind
from hivemind.model.scope import Scope
from hivemind.settings import Settings
from hivemind.store import projector
from hivemind.store.store import FILE, FORMAT

STORES = Path(__file__).parents[1] / "tests" / "fixtures" / "stores"
REMOTE = "https://example.org/acme/shop.git"


def lived_in(home: Path, directory: Path) -> None:
    """A store in which something of everything has happened."""
    subprocess.run(["git", "init", "--quiet"], cwd=directory, check=True)
    subprocess.run(["git", "remote", "add", "origin", REMOTE], cwd=directory, check=True)
    with Hivemind.open(directory=directory, settings=Settings(home=home, person="ada")) as mind:
        mind.remember("Deploys run from main only", kind=Kind.CONVENTION, tags=["deploy"])
        port = mind.remember("API port is 8080", subject="api-port")
        mind.edit(port.id, "API port is 9090", reason="moved")
        mind.remember("Prefers short answers", scope=Scope.USER, kind=Kind.PREFERENCE)
        mind.forget(mind.remember("Builds need Java 8").id, reason="no longer")
        mind.erase(mind.remember("The customer is called Globex").id)
        mind.remember("Perhaps the cache is too small", propose=True)
        mind.store_trace(agent="codex", action="fixed the redirect loop", result="success")
        mind.recall("where do deploys run from?")


def main() -> None:
    """Write the fixture of this version."""
    with tempfile.TemporaryDirectory() as place:
        home, directory = Path(place) / "home", Path(place) / "shop"
        directory.mkdir()
        lived_in(home, directory)
        connection = apsw.Connection(str(home / FILE))
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        STORES.mkdir(parents=True, exist_ok=True)
        file = STORES / f"format-{FORMAT}-{projector.VERSION}.db.gz"
        file.write_bytes(gzip.compress((home / FILE).read_bytes(), mtime=0))
        print(f"{file.name}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
