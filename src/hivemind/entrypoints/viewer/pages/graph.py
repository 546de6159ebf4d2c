"""Graph: the repository's files and symbols with the memories on them, opened up from one place."""

from typing import Any

from starlette.responses import JSONResponse, Response

from hivemind.entrypoints.viewer.request import Visit
from hivemind.model.reports import CodeSurroundings, LinkedMemory
from hivemind.text.clean import first_line, neutralise


def page(visit: Visit) -> Response:
    """A place and what lies around it, as a list; the script draws the same and opens more of it."""
    at = visit.asked.get("at", "").strip("/")
    near = visit.mind.code.near(at)
    folders = [(name, "/".join(at.split("/")[: place + 1])) for place, name in enumerate(at.split("/"))] if at else []
    return visit.page("graph.html", near=near, folders=folders, tied=_by_place(near))


def near(visit: Visit) -> Response:
    """The same for the script."""
    return JSONResponse(_plain(visit.mind.code.near(visit.asked.get("at", "").strip("/"))))


def _by_place(near: CodeSurroundings) -> dict[str, list[LinkedMemory]]:
    """Memories by the child, symbol or file they lie on."""
    found: dict[str, list[LinkedMemory]] = {}
    for tie in near.ties:
        found.setdefault(_place(near, tie), []).append(tie)
    return found


def _place(near: CodeSurroundings, tie: LinkedMemory) -> str:
    if near.is_file:
        return f"{tie.path}::{tie.symbol}" if tie.symbol and tie.path == near.target else tie.path
    depth = near.target.count("/") + 1 if near.target else 0
    return "/".join(tie.path.split("/")[: depth + 1])


def _plain(near: CodeSurroundings) -> dict[str, Any]:
    return {
        "target": neutralise(near.target),
        "isFile": near.is_file,
        "children": [{"path": neutralise(path), "files": files} for path, files in near.children],
        "symbols": [
            {"name": neutralise(one.qualified), "kind": one.kind, "parent": neutralise(one.parent)}
            for one in near.symbols
        ],
        "related": [
            {"path": neutralise(one.path), "weight": round(one.weight, 3), "why": list(one.why)} for one in near.related
        ],
        "memories": [
            {
                "id": tie.memory.id,
                "text": neutralise(first_line(tie.memory.text, 120)),
                "kind": tie.memory.kind.value,
                "on": neutralise(_place(near, tie)),
                "stale": bool(tie.staleness and tie.staleness.must_verify),
            }
            for tie in near.ties
        ],
    }
