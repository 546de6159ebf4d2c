"""Real erasure: plan, sweep, verification, receipt."""
