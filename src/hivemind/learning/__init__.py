"""What is learned from sessions: detectors, proposals."""
