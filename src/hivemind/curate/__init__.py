"""LEARN: how claims become memories."""
