"""Measurements, evaluations and the training of our models; not part of the package."""
