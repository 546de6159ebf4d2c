"""Answers within a token budget, the brief, and what fits a prompt or an action; ``answer.answer`` is the way out."""
