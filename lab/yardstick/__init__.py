"""A benchmark of memories for coding agents, for any system that has an adapter; README.md says how to use it."""
