"""What a person decides: the review queue, disputes, rollback; and history."""
