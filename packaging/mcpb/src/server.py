"""Starts Hivemind's MCP server; written by dev/registry.py."""

from hivemind.mcp import main

main()
