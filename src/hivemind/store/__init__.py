"""The store: one SQLite file with the event log and the tables derived from it.

``Store.record``, in ``store.py``, is the only way to write. This file is empty, so that a hook loads single modules.
"""
