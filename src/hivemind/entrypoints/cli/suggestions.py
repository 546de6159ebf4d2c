"""Suggests a command for a word that is none: its new name, a synonym, the group that has it, or a similar spelling."""

import difflib
from collections.abc import Iterator, Sequence

import click

RENAMED = {
    "audit": "log --audit",
    "backfill": "import transcripts",
    "diff": "log --diff",
    "distil": "learn",
    "history": "log",
    "model": "config model",
    "prune": "session prune",
    "rebuild": "repair --rebuild",
    "receipts": "log --receipts",
    "retract": "forget",
    "revise": "edit",
    "sessions": "session list",
    "stats": "status --counts",
    "sync-files": "import rules",
    "tag": "edit --tags",
}
"""Commands that had another name; those that only moved into a group are found there by their name."""
MEANINGS = {
    "approve": "accept confirm",
    "brief": "context",
    "config": "configure options preferences settings",
    "doctor": "check diagnose health",
    "edit": "amend change correct modify replace update",
    "erase": "destroy purge wipe",
    "explain": "blame describe inspect why",
    "export": "dump",
    "forget, erase": "del delete drop remove rm",
    "hub serve": "host server",
    "import": "ingest load",
    "install": "connect init setup",
    "list": "ls",
    "log": "changes events timeline versions",
    "recall": "ask find get grep lookup query search",
    "reject": "decline deny",
    "remember": "add create new note save store write",
    "repair": "fix recover reindex",
    "restore, rollback": "reset revert undo",
    "review": "inbox pending proposals queue",
    "session resume": "continue handover",
    "show": "cat display open print read view",
    "sync": "exchange pull push",
    "team login": "join",
    "team publish": "share",
    "ui": "browse dashboard gui serve viewer web",
    "uninstall": "disconnect",
}
"""Commands, and the words that people may type when they mean them."""
SYNONYMS = {word: commands.split(", ") for commands, words in MEANINGS.items() for word in words.split()}


def describe_unknown_command(group: click.Group, ctx: click.Context, word: str, noun: str) -> str:
    """An error message about an unknown command, or whatever the noun says, with what to type instead."""
    root = ctx.find_root()
    if ctx is root and word in RENAMED:
        return f"{word!r} is now 'hivemind {RENAMED[word]}'."
    names = [f"{ctx.command_path} {name}" for name in _suggest_names(group, ctx, word)]
    if not names and isinstance(root.command, click.Group):
        names = [f"{root.command_path} {name}" for name in _find_by_meaning(root.command, root, word)]
    hint = f"Did you mean {' or '.join(map(repr, names))}?" if names else f"See '{ctx.command_path} --help'."
    return f"There is no {noun} {word!r}. {hint}"


def _suggest_names(group: click.Group, ctx: click.Context, word: str) -> Sequence[str]:
    # In this order, because 'delete' is spelled like 'related' and means 'forget'.
    return (
        _find_by_meaning(group, ctx, word)
        or [*_find_in_subgroups(group, ctx, word)]
        or difflib.get_close_matches(word, group.list_commands(ctx), n=2)
    )


def _find_by_meaning(group: click.Group, ctx: click.Context, word: str) -> list[str]:
    return [name for name in SYNONYMS.get(word.lower(), ()) if name.split()[0] in group.list_commands(ctx)]


def _find_in_subgroups(group: click.Group, ctx: click.Context, word: str) -> Iterator[str]:
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        if isinstance(command, click.Group) and word in command.commands:
            yield f"{name} {word}"
