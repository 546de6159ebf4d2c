"""Point links of the docs that leave docs/ at the repository; mkdocs calls this for every page."""

import re
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = re.compile(r"\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: object) -> str:
    """Return the page with links such as ../ARCHITECTURE.md as addresses in the repository."""
    folder = PurePosixPath("docs") / PurePosixPath(page.file.src_uri).parent
    repository = str(config.repo_url).rstrip("/")

    def point(match: re.Match[str]) -> str:
        path = (ROOT / folder / match[1]).resolve().relative_to(ROOT)
        return match[0] if path.parts[0] == "docs" else f"]({repository}/blob/main/{path.as_posix()}{match[2] or ''})"

    return OUTSIDE.sub(point, markdown)
