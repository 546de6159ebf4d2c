"""Does memory help an agent? Five tasks in a real repository, with and without, graded by running the result."""
