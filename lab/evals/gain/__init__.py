"""Measure whether what memory tells helps a language model: tasks graded by running, one agent loop, many conditions.

``prepare`` needs Hivemind and writes down what a model is told; ``agent`` and ``models`` need the standard library
alone, so that the runs can take place on another machine; ``analysis`` computes every figure of the report.
"""
