"""Measure whether memory helps an agent: five tasks, with and without memory, graded by running the result.

``python -m lab.evals.tasks`` runs them with a scripted agent or a command, ``lab.evals.played`` with real clients.
"""
