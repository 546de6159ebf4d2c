"""Labels and training for the model of lasting statements; not part of the package."""
