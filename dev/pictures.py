"""Take the pictures of the README: real commands in a terminal, and the viewer in Chromium.

python -m dev.pictures           writes docs/pictures/, from the project of `hivemind demo`
"""

import re
import shutil
import socket
import tempfile
import threading
import time
from pathlib import Path

import uvicorn
from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from dev.tutorial import Terminal
from hivemind import Hivemind
from hivemind.cli.commands.demo import Demo, build_demo
from hivemind.settings import Settings
from hivemind.viewer import build
from hivemind.viewer.local import LoginLinks, MindPool, load_key, make_site

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
COLUMNS = 88
COMMANDS = (
    'hivemind recall "does verify check token expiry?"',
    'hivemind remember "Deploys may go out on Fridays" --subject deploy-days',
    "hivemind session resume 5f1c9a52",
)
SESSION = "/session/5f1c9a52-31d7-4c0e-9a66-0b7d0f2f61aa"
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
REMOTE_FONT = re.compile(r"@font-face \{.*?\n    \}\n", re.DOTALL)
"""A picture must not load anything; the reader's monospaced font is good enough."""
INK = TerminalTheme(
    (24, 27, 33),
    (214, 218, 226),
    [(24, 27, 33), (224, 108, 117), (152, 195, 121), (229, 192, 123), (97, 175, 239), (198, 120, 221), (86, 182, 194),
     (214, 218, 226)],
)  # fmt: skip


def main() -> None:
    """Take all pictures."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        demo = build_demo(Path(folder) / "demo", "ada")
        draw_terminal(demo.repository, demo.home)
        shoot_viewer(demo)


def draw_terminal(root: Path, home: Path) -> None:
    """Save a picture of a terminal with a few commands."""
    shell = Terminal(home)
    shell.directory = root
    shell.environ |= {"HIVEMIND_HOME": str(home), "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    del shell.environ["NO_COLOR"]
    with open("/dev/null", "w") as nowhere:
        screen = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor")
        for command in COMMANDS:
            screen.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
            screen.print(Text.from_ansi(shell.run(command).rstrip() + "\n"))
        svg = screen.export_svg(title="hivemind", theme=INK, unique_id="hivemind")
    (PICTURES / "terminal.svg").write_text(REMOTE_FONT.sub("", svg))


def shoot_viewer(demo: Demo) -> None:
    """Save pictures of the viewer's pages."""
    settings = Settings(home=demo.home, person="ada")
    links, pool = LoginLinks(), MindPool(lambda: Hivemind.open(directory=demo.repository, settings=settings))
    with socket.create_server(("127.0.0.1", 0)) as listening, sync_playwright() as playwright:
        port = listening.getsockname()[1]
        site = make_site(port, load_key(demo.home), links, "ada", pool)
        server = uvicorn.Server(uvicorn.Config(build(site), log_level="critical", lifespan="off"))
        serving = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        serving.start()
        while not server.started:
            time.sleep(0.01)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(reduced_motion="reduce")
        page.goto(f"http://127.0.0.1:{port}/login?code={links.new()}")
        page.wait_for_url(f"http://127.0.0.1:{port}/")
        for name, path, width in (("viewer", "/", 1100), ("review", "/review", 1100), ("session", SESSION, 1280)):
            page.set_viewport_size({"width": width, "height": 760})
            page.goto(f"http://127.0.0.1:{port}{path}", wait_until="networkidle")
            page.screenshot(path=PICTURES / f"{name}.png")
        browser.close()
        server.should_exit = True
        serving.join(10)
    pool.close()


if __name__ == "__main__":
    main()
