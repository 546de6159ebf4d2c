-- Old receipts are deleted where the operator says so.
CREATE INDEX receipts_time ON receipts (team_id, at);
