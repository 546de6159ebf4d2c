"""Training of the embedding model; not part of the package."""
