"""Persistent memory for AI coding agents that a team can trust."""

__version__ = "0.1.0"
