-- Browsers that somebody let in with their token. Only a hash of what the browser holds is kept; a visit ends with the
-- token it began with.
CREATE TABLE visits (
    hash text COLLATE "C" NOT NULL UNIQUE,
    token text COLLATE "C",                -- none where an identity provider vouched
    name text NOT NULL,
    role text NOT NULL CHECK (role IN ('reader', 'writer', 'reviewer', 'admin')),
    expires_at text COLLATE "C" NOT NULL,
    team_id uuid NOT NULL DEFAULT team() REFERENCES teams (team_id),
    PRIMARY KEY (team_id, hash),
    FOREIGN KEY (team_id, token) REFERENCES tokens (team_id, id)
);
ALTER TABLE visits ENABLE ROW LEVEL SECURITY;
ALTER TABLE visits FORCE ROW LEVEL SECURITY;
CREATE POLICY own_team ON visits USING (team_id = team());
CREATE POLICY asked_at_the_door ON visits TO hivemind_door USING (true);
GRANT SELECT, INSERT, DELETE ON visits TO hivemind_hub;
GRANT SELECT ON visits TO hivemind_door;

CREATE FUNCTION visit_of(digest text, moment text) RETURNS TABLE (team text, token text, name text, role text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = hivemind, pg_temp AS $$
    SELECT v.team_id::text, coalesce(v.token, ''), v.name, v.role FROM visits v
    LEFT JOIN tokens t ON t.team_id = v.team_id AND t.id = v.token
    WHERE v.hash = digest AND v.expires_at > moment
      AND (v.token IS NULL OR (t.revoked_at = '' AND t.expires_at > moment))
$$;
CALL hand_over('hivemind_door', 'visit_of');
