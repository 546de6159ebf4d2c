"""Runs the status line where version 0.2 had it."""

import os
import sys

if not __package__:
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from hivemind.statusline import main

if __name__ == "__main__":
    main()
