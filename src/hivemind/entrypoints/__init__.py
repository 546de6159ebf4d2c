"""Paths that version 0.2 wrote into configurations of agents; the modules themselves lie one folder up."""
