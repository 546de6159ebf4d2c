"""Measure whether memory helps an agent: five tasks, with and without memory, graded by running the result.

``hivemind eval`` runs the tasks with a scripted agent or a command; ``lab.evals.played`` runs them with real clients.
"""
