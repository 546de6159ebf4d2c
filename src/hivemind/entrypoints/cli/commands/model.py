"""``hivemind model``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.manners import Family
from hivemind.entrypoints.cli.output import progress, say, tell, tell_rows
from hivemind.model.reports import ModelState

BUILT_IN = ""


@click.group("model", cls=Family, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Which model searches by meaning, and how far it has come.

    \b
    hivemind model
    hivemind model use /models/all-minilm       a folder with model.onnx and tokenizer.json
    hivemind model use https://host/v1#name     an OpenAI-compatible endpoint
    hivemind model use built-in
    """
    if ctx.invoked_subcommand is None:
        with open_mind() as mind:
            _shown(mind.model())


@command.command("use")
@click.argument("name")
def use(name: str) -> None:
    """Search by another model from now on: a folder, an address, built-in, or none.

    \b
    hivemind model use none
    """
    with open_mind() as mind:
        _shown(mind.use_model(_named(name)))


@command.command("catch-up")
def catch_up() -> None:
    """Let everything remembered be found by meaning, now rather than little by little.

    \b
    hivemind model catch-up
    """
    with open_mind() as mind, progress("Embedding") as advance:
        done = mind.catch_up(advance)
    tell({"embedded": done}, f"Embedded {done:,} passages.")


@command.command("compare")
@click.argument("names", nargs=-1, required=True)
def compare(names: tuple[str, ...]) -> None:
    """How well models find the memories at hand by their first halves, and what they cost.

    \b
    hivemind model compare built-in /models/all-minilm
    """
    with open_mind() as mind, progress("Comparing"):
        compared = mind.compare_models([_named(name) for name in names])
    rows = [[one.name, f"{one.found:.3f}", f"{one.milliseconds:.1f}"] for one in compared]
    tell_rows(compared, ["model", "finds (MRR)", "ms a text"], rows)


def _named(name: str) -> str:
    return BUILT_IN if name == "built-in" else name


def _shown(state: ModelState) -> None:
    told = f"{state.embedded:,} passages embedded, {state.waiting:,} waiting"
    without = f"No model: {state.without}. Recall goes by words alone."
    tell(state, lambda: say(without if state.without else f"{state.name}, {state.dimension} dimensions: {told}"))
