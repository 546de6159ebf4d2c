"""What things cost, each beside an anchor measured in the same run."""
