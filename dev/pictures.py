"""Take the pictures of the viewer in Chromium.

python -m dev.pictures           writes docs/pictures/, from the project of `hivemind demo`
"""

import shutil
import socket
import tempfile
import threading
import time
from pathlib import Path

import uvicorn
from playwright.sync_api import sync_playwright

from hivemind import Hivemind
from hivemind.cli.commands.demo import Demo, build_demo
from hivemind.settings import Settings
from hivemind.viewer import build
from hivemind.viewer.local import MindPool, load_key, make_site

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
SESSION = "/session/5f1c9a52-31d7-4c0e-9a66-0b7d0f2f61aa"
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")


def main() -> None:
    """Take the pictures."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        shoot_viewer(build_demo(Path(folder) / "demo", "ada"))


def shoot_viewer(demo: Demo) -> None:
    """Save pictures of the viewer's pages."""
    settings = Settings(home=demo.home, person="ada")
    codes, pool = {"open"}, MindPool(lambda: Hivemind.open(directory=demo.repository, settings=settings))
    with socket.create_server(("127.0.0.1", 0)) as listening, sync_playwright() as playwright:
        port = listening.getsockname()[1]
        site = make_site(port, load_key(demo.home), codes, "ada", pool)
        server = uvicorn.Server(uvicorn.Config(build(site), log_level="critical", lifespan="off"))
        serving = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        serving.start()
        while not server.started:
            time.sleep(0.01)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(reduced_motion="reduce")
        page.goto(f"http://127.0.0.1:{port}/login?code=open")
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
