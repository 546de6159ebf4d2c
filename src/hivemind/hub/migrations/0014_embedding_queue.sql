-- Passages that wait for a vector are a queue: a worker claims some of them for a while, and other workers skip these.
ALTER TABLE vectors_wanted ADD COLUMN claimed_until timestamptz NOT NULL DEFAULT '-infinity';
-- The model of the team's vectors, because vectors of two models cannot be compared; empty before the first one.
ALTER TABLE teams ADD COLUMN model text NOT NULL DEFAULT '';

-- Without FORCE the owner sees the rows of every team, until this transaction ends.
ALTER TABLE teams NO FORCE ROW LEVEL SECURITY;
ALTER TABLE vectors NO FORCE ROW LEVEL SECURITY;
UPDATE teams t SET model = coalesce(
    (SELECT v.model FROM vectors v WHERE v.team_id = t.team_id ORDER BY v.passage LIMIT 1), ''
);
ALTER TABLE teams FORCE ROW LEVEL SECURITY;
ALTER TABLE vectors FORCE ROW LEVEL SECURITY;

CREATE POLICY queued ON vectors_wanted FOR SELECT TO hivemind_index USING (true);
CREATE POLICY queued ON teams FOR SELECT TO hivemind_index USING (true);
GRANT SELECT ON vectors_wanted TO hivemind_index;
GRANT SELECT (team_id, model) ON teams TO hivemind_index;

-- A team that waits for vectors of this model. A random one, so that a team with a long queue holds up no other.
CREATE FUNCTION waiting_team(of_model text) RETURNS uuid
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = hivemind, pg_temp AS $$
    SELECT t.team_id FROM teams t
    -- One probe for each team, where EXISTS would let Postgres read the whole queue.
    CROSS JOIN LATERAL (
        SELECT FROM vectors_wanted v WHERE v.team_id = t.team_id AND v.claimed_until < now() LIMIT 1
    ) waiting
    WHERE t.model IN ('', of_model) ORDER BY random() LIMIT 1
$$;
CALL hand_over('hivemind_index', 'waiting_team');

-- How far the derived data of each team is, for workers and 'hivemind hub status'.
CREATE POLICY queued ON bookmarks FOR SELECT TO hivemind_index USING (true);
GRANT SELECT ON bookmarks TO hivemind_index;
GRANT SELECT (name) ON teams TO hivemind_index;
CREATE FUNCTION team_states(of_reader text) RETURNS TABLE (
    team uuid, name text, model text, version integer, passages bigint, waiting bigint, has_graph boolean
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = hivemind, pg_temp AS $$
    SELECT t.team_id, t.name, t.model, coalesce(b.version, 0), coalesce(c.doc, 0),
        (SELECT count(*) FROM vectors_wanted v WHERE v.team_id = t.team_id),
        to_regclass('vectors_near_' || replace(t.team_id::text, '-', '')) IS NOT NULL
    FROM teams t
    LEFT JOIN bookmarks b ON b.team_id = t.team_id AND b.reader = of_reader
    -- The count of the team's own name is the number of its passages.
    LEFT JOIN word_counts c ON c.team_id = t.team_id AND c.term = t.team_id::text
$$;
CALL hand_over('hivemind_index', 'team_states');
-- For the temporary tables of a rebuild (hub/rebuild.py); most databases allow them to everybody.
DO $$ BEGIN EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO hivemind_hub', current_database()); END $$;
