"""The pages: a module each, from a visit to an answer."""
