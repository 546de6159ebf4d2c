-- Who may come in. hivemind_door owns the functions below and nothing else: whose token this is has to be asked before
-- there is a team, requests are counted across teams, and who was turned away may belong to none.
CREATE TABLE tokens (
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    role text NOT NULL CHECK (role IN ('reader', 'writer', 'reviewer', 'admin')),
    is_agent boolean NOT NULL,
    hash text COLLATE "C" NOT NULL UNIQUE,
    created_at text COLLATE "C" NOT NULL,
    expires_at text COLLATE "C" NOT NULL,
    revoked_at text COLLATE "C" NOT NULL,
    last_used_at text COLLATE "C" NOT NULL,
    team_id uuid NOT NULL DEFAULT team() REFERENCES teams (team_id),
    PRIMARY KEY (team_id, id)
);
CREATE TABLE refusals (
    at text COLLATE "C" NOT NULL,
    who text NOT NULL,
    what text NOT NULL,
    why text NOT NULL,
    team_id uuid DEFAULT team()   -- none where the caller belonged to no team
);
CREATE UNIQUE INDEX teams_name ON teams (name);
CREATE INDEX refusals_time ON refusals (team_id, at);
-- Lost in a crash, which lets everybody begin the minute anew.
CREATE UNLOGGED TABLE requests (
    who text COLLATE "C" NOT NULL,
    minute bigint NOT NULL,
    made integer NOT NULL,
    PRIMARY KEY (who, minute)
);

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'hivemind_door') THEN
        CREATE ROLE hivemind_door NOLOGIN NOSUPERUSER NOBYPASSRLS;
    END IF;
END $$;
GRANT USAGE ON SCHEMA hivemind TO hivemind_door;
ALTER TABLE tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE tokens FORCE ROW LEVEL SECURITY;
CREATE POLICY own_team ON tokens USING (team_id = team());
CREATE POLICY asked_at_the_door ON tokens TO hivemind_door USING (true);
ALTER TABLE refusals ENABLE ROW LEVEL SECURITY;
ALTER TABLE refusals FORCE ROW LEVEL SECURITY;
CREATE POLICY own_team ON refusals FOR SELECT USING (team_id = team());
CREATE POLICY noted_at_the_door ON refusals FOR INSERT TO hivemind_door WITH CHECK (true);
CREATE POLICY named_at_the_door ON teams FOR SELECT TO hivemind_door USING (true);
GRANT SELECT, INSERT, UPDATE ON tokens TO hivemind_hub;
GRANT SELECT ON refusals TO hivemind_hub;
GRANT SELECT, UPDATE (last_used_at) ON tokens TO hivemind_door;
GRANT INSERT ON refusals TO hivemind_door;
GRANT SELECT (team_id, name) ON teams TO hivemind_door;
GRANT SELECT, INSERT, UPDATE, DELETE ON requests TO hivemind_door;

-- Noting the use of a token costs a write; once a minute is often enough to see which are alive.
CREATE FUNCTION token_of(digest text, moment text)
RETURNS TABLE (team text, id text, name text, role text, is_agent boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hivemind, pg_temp AS $$
BEGIN
    UPDATE tokens t SET last_used_at = moment
    WHERE t.hash = digest AND t.revoked_at = '' AND substr(t.last_used_at, 1, 16) <> substr(moment, 1, 16);
    RETURN QUERY SELECT t.team_id::text, t.id, t.name, t.role, t.is_agent FROM tokens t
    WHERE t.hash = digest AND t.revoked_at = '' AND t.expires_at > moment;
END $$;

CREATE FUNCTION team_named(asked text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = hivemind, pg_temp
AS $$ SELECT team_id::text FROM teams WHERE name = asked $$;

CREATE FUNCTION has_teams() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = hivemind, pg_temp
AS $$ SELECT EXISTS (SELECT FROM teams) $$;

CREATE FUNCTION count_request(asker text, slot bigint) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hivemind, pg_temp AS $$
DECLARE counted integer;
BEGIN
    INSERT INTO requests VALUES (asker, slot, 1)
    ON CONFLICT (who, minute) DO UPDATE SET made = requests.made + 1 RETURNING made INTO counted;
    IF counted = 1 THEN
        DELETE FROM requests WHERE minute < slot - 1 AND who = asker;
    END IF;
    RETURN counted;
END $$;

CREATE FUNCTION note_refusal(whose text, moment text, asker text, what text, why text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = hivemind, pg_temp
AS $$ INSERT INTO refusals VALUES (moment, asker, what, why, nullif(whose, '')::uuid) $$;

CALL hand_over('hivemind_door', 'token_of', 'team_named', 'has_teams', 'count_request', 'note_refusal');
