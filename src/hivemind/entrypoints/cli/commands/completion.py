"""``hivemind completion``."""

import click
from click.shell_completion import get_completion_class

VARIABLE = "_HIVEMIND_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print what lets a shell complete commands, options and memory ids.

    \b
    echo 'eval "$(hivemind completion bash)"' >> ~/.bashrc
    echo 'eval "$(hivemind completion zsh)"' >> ~/.zshrc
    hivemind completion fish > ~/.config/fish/completions/hivemind.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    asked = kind(ctx.find_root().command, {}, "hivemind", VARIABLE)
    click.echo(asked.source_template % asked.source_vars())
