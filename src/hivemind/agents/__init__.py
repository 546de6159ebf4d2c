"""Coding agents: a module for each, connecting them, and decoding what their hooks and transcripts say."""
