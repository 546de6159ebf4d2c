"""Measure recall on question sets of our own: small stores, ten languages, prompts."""
