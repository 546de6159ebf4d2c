"""One adapter for each system, and the list of them."""

from importlib import import_module
from pathlib import Path

from lab.yardstick.adapter import Adapter

SYSTEMS = {
    "hivemind": "hivemind:HivemindAdapter",
    "agentmemory": "agentmemory:AgentMemory",
    "claude-mem": "claude_mem:ClaudeMem",
    "basic-memory": "basic_memory:BasicMemory",
    "mem0": "mem0:Mem0",
    "mempalace": "mempalace:MemPalace",
    "vectors": "vectors:Vectors",
    "fts5": "plain:Fts5",
    "grep": "plain:Grep",
    "rules-file": "plain:RulesFile",
}
"""The order is that of the table's columns; the last four are what anybody can have without a product."""


def load_adapter(name: str, peers: Path) -> Adapter:
    """Make the adapter of a system: one of ours, or ``package.module:Class``."""
    target = f"{__name__}.{SYSTEMS[name]}" if name in SYSTEMS else name
    module_name, _, class_name = target.partition(":")
    if not class_name:
        raise SystemExit(f"there is no system {name}; ours are {', '.join(SYSTEMS)}; others as package.module:Class")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        raise SystemExit(f"{name}: {error}; run this from the folder that has it, or set PYTHONPATH") from error
    if not hasattr(module, class_name):
        raise SystemExit(f"{module.__file__} has no class {class_name}")
    adapter: Adapter = getattr(module, class_name)(peers)
    return adapter
