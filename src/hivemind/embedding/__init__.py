"""Vectors of texts: tokenizer, weights, embedder."""
