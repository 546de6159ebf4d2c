-- Whether nobody asked for what was shown, and whether its code had changed; until now only the reasons said so.
ALTER TABLE receipts ADD COLUMN is_unasked integer NOT NULL DEFAULT 0;
ALTER TABLE receipts ADD COLUMN is_in_doubt integer NOT NULL DEFAULT 0;
