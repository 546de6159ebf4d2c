"""Whether Hivemind does its work, asked in ways too slow for the tests."""
