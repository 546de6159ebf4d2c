"""WHAT there is: frozen values and pure functions, no files, no clock, no network."""
