"""TEAM: what a team shares, between its devices and the hub that keeps it."""
