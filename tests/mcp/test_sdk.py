"""The official client, in both of its ways of meeting a server."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import mcp
import pytest


async def conversation(place: Path, mode: str, environ: dict[str, str]) -> tuple[str, list[str], Any, Any]:
    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "hivemind", "mcp"], cwd=place, env=environ
    )
    async with mcp.Client(mcp.stdio_client(server), mode=mode) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        await client.call_tool("remember", {"text": "The staging database is called heron"})
        found = await client.call_tool("recall", {"query": "staging database"})
        page = await client.read_resource("hivemind://brief")
        return client.protocol_version, tools, found, page


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_official_client_gets_along_with_us(mode: str, version: str, tmp_path: Path, home: Path) -> None:
    environ = {"HIVEMIND_HOME": str(home), "PATH": "/usr/bin:/bin"}

    spoken, tools, found, page = asyncio.run(conversation(tmp_path, mode, environ))

    assert spoken == version
    assert "remember" in tools
    assert not found.is_error
    assert "heron" in found.content[0].text
    assert page.contents
