"""Export, import, rules files, notes and skills of agents."""
