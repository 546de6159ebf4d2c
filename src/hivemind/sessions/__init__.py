"""Sessions of agents: spool, redaction, transcripts, search, hand-over."""
