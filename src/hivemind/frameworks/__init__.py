"""Plugs for agent frameworks, one module each; they are imported by the framework's users alone."""
