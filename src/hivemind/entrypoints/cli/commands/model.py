"""``hivemind model``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, note, progress, say, say_json, table
from hivemind.model.reports import ModelState

BUILT_IN = ""


@click.group("model", invoke_without_command=True)
@as_json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Which model searches by meaning, and how far it has come.

    \b
    hivemind model
    hivemind model use /models/all-minilm       a folder with model.onnx and tokenizer.json
    hivemind model use https://host/v1#name     an OpenAI-compatible endpoint
    hivemind model use built-in
    """
    if ctx.invoked_subcommand is None:
        with open_mind() as mind:
            _shown(mind.model(), as_json=as_json)


@command.command("use")
@click.argument("name")
@as_json_option
def use(name: str, as_json: bool) -> None:
    """Search by another model from now on: a folder, an address, built-in, or none."""
    with open_mind() as mind:
        _shown(mind.use_model(_named(name)), as_json=as_json)


@command.command("catch-up")
def catch_up() -> None:
    """Let everything remembered be found by meaning, now rather than little by little."""
    with open_mind() as mind, progress("Embedding") as advance:
        say(f"Embedded {mind.catch_up(advance):,} passages.")


@command.command("compare")
@click.argument("names", nargs=-1, required=True)
@as_json_option
def compare(names: tuple[str, ...], as_json: bool) -> None:
    """How well models find the memories at hand by their first halves, and what they cost."""
    with open_mind() as mind:
        compared = mind.compare_models([_named(name) for name in names])
    if as_json:
        say_json(compared)
    else:
        rows = [[one.name, f"{one.found:.3f}", f"{one.milliseconds:.1f}"] for one in compared]
        table(["model", "finds (MRR)", "ms a text"], rows)


def _named(name: str) -> str:
    return BUILT_IN if name == "built-in" else name


def _shown(state: ModelState, *, as_json: bool) -> None:
    if as_json:
        say_json(state)
    elif state.without:
        note(f"No model: {state.without}. Recall goes by words alone.")
    else:
        told = f"{state.embedded:,} passages embedded, {state.waiting:,} waiting"
        say(f"{state.name}, {state.dimension} dimensions: {told}")
