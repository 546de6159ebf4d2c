"""The review queue, verdicts, rollback, history."""
