"""The files that agents run by their paths; a console script or ``python -m`` would load more modules first.

They only import what they run: Python compiles a file that is run each time, and what it imports once.
"""
