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

ALTER TABLE teams ADD COLUMN lease_days integer NOT NULL DEFAULT 60;
ALTER TABLE teams ADD COLUMN max_devices integer NOT NULL DEFAULT 20;
ALTER TABLE teams ADD COLUMN max_entries bigint NOT NULL DEFAULT 0;    -- 0: no limit
ALTER TABLE teams ADD COLUMN refusal_days integer NOT NULL DEFAULT 90;

-- For whoever runs the hub, and for the caller of a token that is not valid: a device whose access was revoked deletes
-- its copy, one whose token has only expired keeps it.
CREATE FUNCTION list_teams() RETURNS TABLE (id text, name text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = hivemind, pg_temp
AS $$ SELECT team_id::text, name FROM teams ORDER BY name $$;
CREATE FUNCTION is_revoked(digest text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = hivemind, pg_temp
AS $$ SELECT EXISTS (SELECT FROM tokens WHERE hash = digest AND revoked_at <> '') $$;

-- Anybody can cause refusals, so they end by themselves.
GRANT SELECT (refusal_days) ON teams TO hivemind_door;
GRANT SELECT, DELETE ON refusals TO hivemind_door;
CREATE POLICY pruned_at_the_door ON refusals FOR ALL TO hivemind_door USING (true);
CREATE FUNCTION prune_refusals(whose text, moment text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = hivemind, pg_temp AS $$
    DELETE FROM refusals r WHERE r.team_id IS NOT DISTINCT FROM nullif(whose, '')::uuid AND r.at < to_char(
        moment::timestamptz AT TIME ZONE 'UTC'
        - make_interval(days => coalesce((SELECT refusal_days FROM teams t WHERE t.team_id = r.team_id), 90)),
        'YYYY-MM-DD"T"HH24:MI:SS'
    )
$$;
CALL hand_over('hivemind_door', 'list_teams', 'is_revoked', 'prune_refusals');
