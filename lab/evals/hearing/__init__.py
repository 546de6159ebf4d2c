"""Does a note ask about what people meant to last? Prompts of people that nothing was tuned on."""
