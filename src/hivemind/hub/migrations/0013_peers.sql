-- The machines of a person. Always empty on a hub, where nothing of a person's own arrives; both engines have the same
-- tables.
CREATE TABLE peers (
    device text COLLATE "C" NOT NULL,
    name text NOT NULL,
    secret text NOT NULL,
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, device)
);
ALTER TABLE peers ENABLE ROW LEVEL SECURITY;
ALTER TABLE peers FORCE ROW LEVEL SECURITY;
CREATE POLICY own_team ON peers USING (team_id = team());
GRANT SELECT, INSERT, UPDATE, DELETE ON peers TO hivemind_hub;
