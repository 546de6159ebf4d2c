"""A real identity provider in a process of its own, and people who sign in at it."""

import json
import re
import socket
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

from lab.evals.clients.trial import NODE, install_package
from tests.hub.serving import SECONDS

PACKAGE = "oidc-provider@9"
SCRIPT = Path(__file__).with_suffix(".mjs")
CLIENT_ID = "hivemind"


@dataclass
class Provider:
    """A running provider and the accounts that it knows."""

    url: str
    accounts_file: Path
    process: "subprocess.Popen[str]"
    accounts: dict[str, dict[str, Any]] = field(default_factory=dict)

    def stop(self) -> None:
        """End the provider; what it knew is lost."""
        self.process.terminate()
        self.process.wait()

    def set_account(self, subject: str, **claims: Any) -> None:
        """Create or change an account; None removes a claim."""
        account = self.accounts.get(subject, {}) | claims
        self.accounts[subject] = {name: value for name, value in account.items() if value is not None}
        self.accounts_file.write_text(json.dumps(self.accounts), "utf-8")


@contextmanager
def run_provider(npm: Path, directory: Path) -> Iterator[Provider]:
    """Start the provider from npm and stop it at the end."""
    install_package(npm, "oidc-provider", PACKAGE)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    accounts_file = directory / "accounts.json"
    accounts_file.write_text("{}")
    package = npm / "oidc-provider" / "node_modules" / "oidc-provider"
    command = [str(NODE / "node"), str(SCRIPT), str(package), str(port), str(accounts_file)]
    with (
        (directory / "provider.log").open("w") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield Provider(f"http://127.0.0.1:{port}", accounts_file, process)
        finally:
            process.terminate()


class _FormParser(HTMLParser):
    """Collects the first form of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "form" and not self.action:
            self.action = attributes.get("action") or ""
        elif tag == "input" and attributes.get("name"):
            self.fields[str(attributes["name"])] = attributes.get("value") or ""


def browse(url: str, subject: str, opener: urllib.request.OpenerDirector | None = None) -> str:
    """Do what a person in a browser does: fill in every form on the way; return the last page."""
    opener = opener or urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    address, page = _read(opener.open(url, timeout=SECONDS))
    # Name, consent, and for a device its code and a confirmation.
    for _ in range(6):
        form = _FormParser()
        form.feed(page)
        if not form.fields:
            break
        fields = form.fields | {"login": subject, "password": "any"}
        data = urllib.parse.urlencode(fields).encode()
        address, page = _read(opener.open(urllib.parse.urljoin(address, form.action), data=data, timeout=SECONDS))
    return page


def _read(answer: Any) -> tuple[str, str]:
    with answer:
        return str(answer.geturl()), answer.read().decode()


def find_url(text: str) -> str:
    """The last address in a text."""
    return str(re.findall(r"https?://\S+", text)[-1])


if __name__ == "__main__":
    browse(sys.argv[2], sys.argv[1])
