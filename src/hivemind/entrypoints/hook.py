"""Runs the hook."""

import os
import sys

if not __package__:
    # Appended, so that no file in that directory can replace a module of the standard library.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from hivemind.hook import main

if __name__ == "__main__":
    main()
