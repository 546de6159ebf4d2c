"""Memories: remember, edit, forget; what becomes of a claim, kinds, verdicts, contradiction."""
