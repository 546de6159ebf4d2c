"""The working tree: identify its repository, index its symbols, link names to code, and detect changes."""
