"""Measure retrieval quality: public question sets through the public API, compared with simpler systems."""
