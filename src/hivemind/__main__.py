"""``python -m hivemind``."""

from hivemind.entrypoints.cli import main

main()
