"""Run the official tools of the Model Context Protocol, from npm, on us: conformance tests, inspector, bundler.

python -m lab.evals.conformance --npm DIR          everything
python -m lab.evals.conformance --npm DIR server   only ``hivemind mcp``; or hub, or inspector, or bundle

The tests speak HTTP. A bridge passes their requests to the lines of ``hivemind mcp``, or to a hub with a token.
Scenarios that call tools of the suite's own sample server are left out: they test that sample. ``--npm`` keeps the
packages for later runs.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dev.registry import BUNDLE, ROOT
from hivemind.hub.host import Host
from hivemind.hub.store import HubDatabase
from hivemind.settings import Settings
from lab.evals.clients.trial import NODE, install_package
from tests import postgres
from tests.hub.serving import serving

CONFORMANCE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
"""The last version of npm's `latest` tag knows nothing of 2026-07-28."""
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
BUNDLER = "@anthropic-ai/mcpb@2.1.2"

BOTH = ("tools-list", "caching", "server-stateless")
SERVER_SCENARIOS = {
    "2025-11-25": ("server-initialize", "ping", "tools-list", "resources-list", "prompts-list"),
    "2026-07-28": (
        *BOTH, "resources-list", "prompts-list", "sep-2164-resource-not-found",
        "input-required-result-unsupported-methods",
    ),
}  # fmt: skip
HUB_SCENARIOS = {
    "2025-11-25": ("server-initialize", "ping", "tools-list", "dns-rebinding-protection"),
    "2026-07-28": (*BOTH, "dns-rebinding-protection", "http-header-validation"),
}
NOT_OURS = {
    "server": (
        # A request without a version belongs to the older protocol, which the same process speaks.
        "missing-meta", "missing-protocol-version", "meta-invalid-400",
        # Headers are the bridge's.
        "header-mismatch",
    ),
    "hub": (
        "missing-meta", "missing-protocol-version", "meta-invalid-400",
        # A hub has no prompts and resources.
        "prompts-list-caching", "resources-list-caching", "resources-templates-list-caching",
    ),
}  # fmt: skip
"""Parts of names of checks that do not apply to a server."""
SAMPLE_TOOL = "test_"
"""Begins the names of tools that only the suite's own sample server has."""

Reply = tuple[int, bytes]
Forward = Callable[[bytes, dict[str, str]], Reply]


def main() -> None:
    """Run what is named on the command line, and print each check that fails."""
    parser = argparse.ArgumentParser(prog="python -m lab.evals.conformance")
    parser.add_argument("names", nargs="*", metavar="NAME", help="server, hub, inspector, bundle; all without a name")
    parser.add_argument("--npm", type=Path, help="folder for npm packages, reused by later runs")
    options = parser.parse_args()
    with ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        npm = (options.npm or top / "npm").absolute()
        runs = {"server": run_on_server, "hub": run_on_hub, "inspector": run_inspector, "bundle": check_bundle}
        failures = [failure for name in options.names or runs for failure in runs[name](npm, top)]
    sys.exit(f"{len(failures)} failed" if failures else 0)


def run_on_server(npm: Path, top: Path) -> list[str]:
    """Test ``hivemind mcp``."""
    with _start_server(top) as forward, _bridge(forward) as url:
        return _run_scenarios("server", npm, url, SERVER_SCENARIOS)


def run_on_hub(npm: Path, top: Path) -> list[str]:
    """Test the hub's ``/mcp``, as a member."""
    with ExitStack() as stack:
        folder = stack.enter_context(postgres.serving())
        database = stack.enter_context(HubDatabase.open(postgres.database(folder, "conformance")))
        hub = stack.enter_context(serving(Host(database, Settings(home=top / "hub", person="hub"))))
        hub.host.create_team("team")
        token = hub.token("team")

        def forward(body: bytes, headers: dict[str, str]) -> Reply:
            headers |= {"Authorization": f"Bearer {token}"}
            request = urllib.request.Request(f"{hub.url}/mcp", data=body, headers=headers)
            try:
                with urllib.request.urlopen(request, timeout=30) as reply:
                    return reply.status, reply.read()
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, error.read()

        address = urlsplit(hub.url).netloc
        return _run_scenarios("hub", npm, stack.enter_context(_bridge(forward, address)), HUB_SCENARIOS)


def run_inspector(npm: Path, top: Path) -> list[str]:
    """Have the inspector list and call what ``hivemind mcp`` offers, and judge its schemas."""
    install_package(npm, "inspector", INSPECTOR)
    launcher = npm / "inspector/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    calls = {
        "tools/list": ("--strict",),
        "tools/call": ("--tool-name", "recall", "--tool-arg", "query=deploys"),
        "resources/read": ("--uri", "hivemind://brief"),
        "prompts/get": ("--prompt-name", "context", "--prompt-args", "task=deploy"),
    }
    failures = []
    for method, options in calls.items():
        command = [str(NODE / "node"), str(launcher), "--cli", sys.executable, "-P", "-m", "hivemind", "mcp"]
        process = subprocess.run(
            [*command, "--method", method, *options],
            cwd=top, env=_make_environ(top), check=False, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        is_good = process.returncode == 0
        print(f"inspector {method:<46} {'ok' if is_good else 'FAIL ' + process.stderr[-500:]}", flush=True)
        failures += [] if is_good else [method]
    return failures


def check_bundle(npm: Path, top: Path) -> list[str]:
    """Have the official tool validate the manifest of our bundle, and pack it."""
    install_package(npm, "mcpb", BUNDLER)
    program = npm / "mcpb/node_modules/@anthropic-ai/mcpb/dist/cli/cli.js"
    failures = []
    for command in (["validate", f"{BUNDLE}/manifest.json"], ["pack", BUNDLE, str(top / "hivemind.mcpb")]):
        process = subprocess.run(
            [str(NODE / "node"), str(program), *command], cwd=ROOT, check=False, capture_output=True, text=True
        )
        is_good = process.returncode == 0
        print(f"bundle    {command[0]:<46} {'ok' if is_good else 'FAIL ' + process.stdout[-500:]}", flush=True)
        failures += [] if is_good else command[:1]
    return failures


def _run_scenarios(name: str, npm: Path, url: str, scenarios: dict[str, tuple[str, ...]]) -> list[str]:
    install_package(npm, "conformance", CONFORMANCE)
    program = npm / "conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js"
    failures = []
    for version, names in scenarios.items():
        for scenario in names:
            with tempfile.TemporaryDirectory() as folder:
                command = [str(NODE / "node"), str(program), "server", "--url", url, "--scenario", scenario]
                subprocess.run(
                    [*command, "--spec-version", version, "--output-dir", folder],
                    check=False,
                    capture_output=True,
                    timeout=120,
                )
                checks = [check for file in Path(folder).rglob("checks.json") for check in json.loads(file.read_text())]
            checks = [check for check in checks if _is_ours(name, check)]
            wrong = [check for check in checks if check["status"] == "FAILURE"]
            passed = sum(check["status"] == "SUCCESS" for check in checks)
            print(f"{name:<9} {version} {scenario:<45} {passed} passed, {len(wrong)} failed", flush=True)
            for check in wrong:
                print(f"          {check['id']}: {check.get('errorMessage')}", flush=True)
            failures += [check["id"] for check in wrong]
    return failures


def _is_ours(name: str, check: dict[str, Any]) -> bool:
    is_about_sample = SAMPLE_TOOL in str(check.get("errorMessage"))
    return not is_about_sample and not any(part in check["id"] for part in NOT_OURS[name])


@contextmanager
def _start_server(top: Path) -> Iterator[Forward]:
    command = [sys.executable, "-P", "-m", "hivemind", "mcp"]
    lock = threading.Lock()
    with subprocess.Popen(
        command, cwd=top, env=_make_environ(top), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdin
        assert server.stdout
        lines, replies = server.stdin, server.stdout

        def forward(body: bytes, _: dict[str, str]) -> Reply:
            message = json.loads(body)
            with lock:
                lines.write(json.dumps(message).encode() + b"\n")
                lines.flush()
                reply = replies.readline() if "id" in message and "method" in message else b""
            return _find_status(message, reply), reply

        yield forward
        lines.close()


def _find_status(message: dict[str, Any], reply: bytes) -> int:
    """Return the HTTP status that the newer version wants for a reply."""
    if not reply:
        return 202
    error = json.loads(reply).get("error")
    is_new = "_meta" in (message.get("params") or {})
    return 200 if error is None or not is_new else 404 if error["code"] == -32601 else 400


@contextmanager
def _bridge(forward: Forward, address: str = "") -> Iterator[str]:
    """Yield a URL whose requests are passed on; headers that name it get the server's own address."""

    class Handler(BaseHTTPRequestHandler):
        """Passes requests on and their replies back."""

        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            """Answer a message."""
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            port = self.connection.getsockname()[1]
            names = re.compile(rf"(127\.0\.0\.1|localhost):{port}")
            status, reply = forward(body, {name: names.sub(address, value) for name, value in self.headers.items()})
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def do_GET(self) -> None:
            """Refuse a stream: no server of ours sends anything by itself."""
            self.send_error(405)

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    class Server(ThreadingHTTPServer):
        """Says nothing of clients that leave without waiting for the reply, as tests do."""

        def handle_error(self, *_: Any) -> None:
            """Print nothing."""

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/mcp"
        finally:
            server.shutdown()
            thread.join()


def _make_environ(top: Path) -> dict[str, str]:
    return os.environ | {"HIVEMIND_HOME": str(top / "memory")}


if __name__ == "__main__":
    main()
