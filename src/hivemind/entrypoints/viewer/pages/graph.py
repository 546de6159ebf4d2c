"""Graph: the repository's files and symbols with their memories, opened from one file or folder."""

from typing import Any

from starlette.responses import JSONResponse, Response

from hivemind.entrypoints.viewer.request import PageRequest
from hivemind.model.reports import CodeSurroundings, LinkedMemory
from hivemind.text.clean import first_line, neutralise


def page(request: PageRequest) -> Response:
    """Show a file or folder and its surroundings as a list; the script draws the same."""
    path = request.query.get("at", "").strip("/")
    surroundings = request.mind.code.near(path)
    names = path.split("/") if path else []
    folders = [(name, "/".join(names[: position + 1])) for position, name in enumerate(names)]
    return request.render(
        "graph.html",
        near=surroundings,
        folders=folders,
        linked=_group_by_node(surroundings),
        ties=_group_by_memory(surroundings),
    )


def near(request: PageRequest) -> Response:
    """Return the surroundings of a file or folder for the script."""
    return JSONResponse(_to_json(request.mind.code.near(request.query.get("at", "").strip("/"))))


def _group_by_node(near: CodeSurroundings) -> dict[str, list[LinkedMemory]]:
    memories: dict[str, list[LinkedMemory]] = {}
    for link in near.ties:
        memories.setdefault(_get_node(near, link), []).append(link)
    return memories


def _group_by_memory(near: CodeSurroundings) -> list[list[LinkedMemory]]:
    """Return the links of each memory, because one may be about several places."""
    memories: dict[str, list[LinkedMemory]] = {}
    for link in near.ties:
        memories.setdefault(link.memory.id, []).append(link)
    return list(memories.values())


def _get_node(near: CodeSurroundings, link: LinkedMemory) -> str:
    """Return the symbol, file or child folder at which a memory is drawn."""
    if near.is_file:
        return f"{link.path}::{link.symbol}" if link.symbol and link.path == near.target else link.path
    depth = near.target.count("/") + 1 if near.target else 0
    return "/".join(link.path.split("/")[: depth + 1])


# JSON bypasses the templates, so control characters are removed here.
def _to_json(near: CodeSurroundings) -> dict[str, Any]:
    return {
        "target": neutralise(near.target),
        "isFile": near.is_file,
        "children": [{"path": neutralise(path), "files": files} for path, files in near.children],
        "symbols": [
            {"name": neutralise(symbol.qualified), "kind": symbol.kind, "parent": neutralise(symbol.parent)}
            for symbol in near.symbols
        ],
        "related": [
            {"path": neutralise(file.path), "weight": round(file.weight, 3), "why": list(file.why)}
            for file in near.related
        ],
        "memories": [
            {
                "id": link.memory.id,
                "text": neutralise(first_line(link.memory.text, 120)),
                "kind": link.memory.kind.value,
                "on": neutralise(_get_node(near, link)),
                "stale": bool(link.staleness and link.staleness.must_verify),
            }
            for link in near.ties
        ],
    }
