-- By what erased texts are found inside longer ones.
CREATE TABLE erased_texts (
    memory_id text COLLATE "C" NOT NULL,
    place integer NOT NULL,
    scope text NOT NULL,
    imprint text NOT NULL,
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, memory_id, place)
);
ALTER TABLE erased_texts ENABLE ROW LEVEL SECURITY;
ALTER TABLE erased_texts FORCE ROW LEVEL SECURITY;
CREATE POLICY own_team ON erased_texts USING (team_id = team());
GRANT SELECT, INSERT, UPDATE, DELETE ON erased_texts TO hivemind_hub;
