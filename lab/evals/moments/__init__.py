"""Whether words in the instructions make a model use the memory at the right moments."""
