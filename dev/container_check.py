"""Build the hub's image and start what docker-compose.yml starts from it, against a real Postgres, without a registry.

    python dev/container_check.py        # as root on Debian; needs buildah, mmdebstrap, PyYAML (5 min, 1 GB)

The base is a Debian with Python in place of python:3.12-slim, every other step is the Dockerfile's own. Postgres is the
one of the tests, behind a socket that the containers see; the images of Postgres and Caddy are not tried.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import yaml  # type: ignore[import-untyped, unused-ignore]

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
from tests.postgres import FAST_SETTINGS, database, serving  # noqa: E402 - needs the path above

COMPOSE = ROOT / "packaging/hub/docker-compose.yml"
BASE, IMAGE = "localhost/hivemind-base", "localhost/hivemind-hub-check"
PACKAGES = "python3,python3-pip,python-is-python3,ca-certificates"
NAME = "hub.example"
HEALTHY_SECONDS = 60
# Overlay mounts and namespaces need rights that a build machine often lacks.
os.environ |= {"STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}
# What the network of a company may put in place of the public authorities.
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"


def main() -> None:
    """Build, start, wait until the health check of the compose file succeeds, and stop."""
    with tempfile.TemporaryDirectory() as folder, serving(FAST_SETTINGS) as socket_folder:
        build(Path(folder))
        services = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"]
        address = database(socket_folder, "hub")
        hub, worker = (Container(address, socket_folder) for _ in range(2))
        try:
            hub.start(services["hub"]["command"].replace("${HUB_NAME:?the name that members use}", NAME))
            wait_until_healthy(hub, services["hub"]["healthcheck"]["test"][1:])
            worker.start(services["worker"]["command"])
            print(run([*hub.run, *entrypoint(), "status", "--database", address]))
            worker.expect_running()
        finally:
            for container in (hub, worker):
                container.remove()
    print("the image was built, the hub is ready, and a worker runs")


def build(folder: Path) -> None:
    """Build the image of this checkout, as the compose file does."""
    if not run(["buildah", "images", "--quiet", "--filter", f"reference={BASE}"]):
        run(["mmdebstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", folder / "base.tar"])
        container = run(["buildah", "from", "scratch"])
        run(["buildah", "add", "--quiet", container, folder / "base.tar", "/"])
        # Debian forbids pip to install beside its own packages; Docker's Python has none.
        run(["buildah", "run", container, "--", "sh", "-c", "rm /usr/lib/python3*/EXTERNALLY-MANAGED"])
        run(["buildah", "commit", "--quiet", "--rm", container, BASE])
    recipe = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"]["hub"]["build"]
    context = (COMPOSE.parent / recipe["context"]).resolve()
    run(
        ["buildah", "build", "--from", BASE, "--pull-never", "--file", context / recipe["dockerfile"],
         "--volume", f"{AUTHORITIES}:{AUTHORITIES}:ro", "--tag", IMAGE, context]
    )  # fmt: skip


def entrypoint() -> list[str]:
    """Return the image's entry point, which ``buildah run`` does not use by itself."""
    words: list[str] = json.loads(run(["buildah", "inspect", "--type", "image", IMAGE]))["OCIv1"]["config"][
        "Entrypoint"
    ]
    return words


class Container:
    """A container of the image that sees the socket of a Postgres."""

    def __init__(self, address: str, socket_folder: str) -> None:
        self._name = run(["buildah", "from", IMAGE])
        self.run = ["buildah", "run", "--volume", f"{socket_folder}:{socket_folder}", "--env",
                    f"HIVEMIND_HUB_DATABASE={address}", self._name, "--"]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, command: str) -> None:
        """Start the image's entry point with the arguments of a service."""
        print("$", *entrypoint(), command)
        self._process = subprocess.Popen([*self.run, *entrypoint(), *command.split()])

    def expect_running(self) -> None:
        """Fail if the process has ended."""
        time.sleep(5)
        if self._process is None or self._process.poll() is not None:
            raise SystemExit("the container has stopped; its output is above")

    def remove(self) -> None:
        """Stop the process and delete the container."""
        if self._process:
            self._process.terminate()
            self._process.wait(HEALTHY_SECONDS)
        run(["buildah", "rm", self._name])


def wait_until_healthy(container: Container, check: Sequence[str]) -> None:
    """Run a health check in a container until it succeeds."""
    deadline = time.monotonic() + HEALTHY_SECONDS
    while subprocess.run([*container.run, *check], capture_output=True, check=False).returncode:
        if time.monotonic() > deadline:
            raise SystemExit(f"the health check did not succeed within {HEALTHY_SECONDS} seconds")
        time.sleep(1)
    print("healthy:", *check)


def run(command: Sequence[str | Path]) -> str:
    """Run a command and return what it printed; stop with its errors if it fails."""
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed with exit code {result.returncode}")
    return result.stdout.strip()


if __name__ == "__main__":
    main()
