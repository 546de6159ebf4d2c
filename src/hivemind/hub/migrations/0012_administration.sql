-- Devices that an admin removed: they get nothing any more, and no erasure waits for them.
CREATE TABLE removed_devices (
    chain text COLLATE "C" NOT NULL,
    at text COLLATE "C" NOT NULL,
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, chain)
);
-- With which token a device last said hello, so that removing a lost laptop also revokes the token on it.
CREATE TABLE device_logins (
    chain text COLLATE "C" NOT NULL,
    token text COLLATE "C" NOT NULL,
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, chain)
);
DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['removed_devices', 'device_logins'] LOOP
        EXECUTE format('ALTER TABLE hivemind.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE hivemind.%I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY own_team ON hivemind.%I USING (team_id = team())', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON hivemind.%I TO hivemind_hub', name);
    END LOOP;
END $$;
