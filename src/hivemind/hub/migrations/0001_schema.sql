-- The tables and functions of a hub. Later changes are numbered files beside this one.

-- Three roles that cannot log in:
-- * hivemind_hub is who a hub answers as. It owns nothing, and row-level security binds it.
-- * hivemind_index owns the functions of search and of workers. Postgres uses no full-text index below row-level
--   security, because its operator is not leakproof. The functions of search name the team themselves and return only
--   keys.
-- * hivemind_door owns the functions that are called before a team is known, such as whose token this is.
DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['hivemind_hub', 'hivemind_index', 'hivemind_door'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS', name);
        END IF;
    END LOOP;
    IF NOT pg_has_role(current_user, 'hivemind_hub', 'MEMBER') OR NOT EXISTS (
        SELECT FROM pg_auth_members WHERE roleid = 'hivemind_hub'::regrole AND member = current_user::regrole
            AND (to_jsonb(pg_auth_members) ->> 'set_option') IS DISTINCT FROM 'false'
    ) THEN
        EXECUTE format('GRANT hivemind_hub TO %I', current_user);
    END IF;
END $$;
GRANT USAGE ON SCHEMA hivemind TO hivemind_hub, hivemind_index, hivemind_door;
-- For the temporary tables of a rebuild (hub/derived_data.py); most databases allow them to everybody.
DO $$ BEGIN EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO hivemind_hub', current_database()); END $$;
DO $$ BEGIN
    -- Asked first: Citus would pass the command on, which only the owner of the extension may.
    IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector') THEN
        CREATE EXTENSION vector;
    END IF;
END $$;
SELECT '[1]'::halfvec; -- loads the library, without which its settings are unknown

CREATE FUNCTION team() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('hivemind.team', true), '')::uuid;

-- What our statements call as SQLite names it; few rows, so that what is asked for leads to the tables and not back.
-- One function for both forms, because Citus alters functions by their names.
CREATE FUNCTION json_each(document text, path text DEFAULT '$') RETURNS TABLE (value text)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE ROWS 10 AS $$
    SELECT json_array_elements_text(
        CASE WHEN path = '$' THEN document::json ELSE coalesce(document::json -> substr(path, 3), '[]') END
    )
$$;
CREATE FUNCTION json_extract(text, text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1::json ->> substr($2, 3);
-- For objects without objects in them.
CREATE FUNCTION json_patch(text, text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN ($1::jsonb || $2::jsonb)::text;

-- Words are cut before they come here, and stemmed as SQLite stems them.
CREATE TEXT SEARCH DICTIONARY stem (TEMPLATE = snowball, Language = porter);
CREATE TEXT SEARCH CONFIGURATION words (COPY = simple);
ALTER TEXT SEARCH CONFIGURATION words ALTER MAPPING REPLACE simple WITH stem;

-- Gives functions to a role that answers for them, and to the hub that calls them. Only whoever may become a role can
-- give it something; afterwards the owner is not a member of it any more.
CREATE PROCEDURE hand_over(new_owner text, VARIADIC functions text[]) LANGUAGE plpgsql AS $$
DECLARE
    name text;
    is_super boolean := (SELECT rolsuper FROM pg_roles WHERE rolname = current_user);
BEGIN
    IF NOT is_super THEN
        EXECUTE format('GRANT %I TO %I', new_owner, current_user);
    END IF;
    EXECUTE format('GRANT CREATE ON SCHEMA hivemind TO %I', new_owner);
    FOREACH name IN ARRAY functions LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %I FROM PUBLIC', name);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %I TO hivemind_hub', name);
        EXECUTE format('ALTER FUNCTION %I OWNER TO %I', name, new_owner);
    END LOOP;
    EXECUTE format('REVOKE CREATE ON SCHEMA hivemind FROM %I', new_owner);
    IF NOT is_super THEN
        EXECUTE format('REVOKE %I FROM %I', new_owner, current_user);
    END IF;
END $$;
REVOKE EXECUTE ON PROCEDURE hand_over FROM PUBLIC;

-- Every row belongs to a team. team_id comes last, so that a statement which does not name it fills it by its default.
CREATE TABLE teams (
    name text NOT NULL,
    device text NOT NULL,                     -- the chain of what the hub itself records
    secret bytea NOT NULL,                    -- keys the digests of values that stay out; its members hold it too
    epoch text NOT NULL DEFAULT '',
    place text NOT NULL DEFAULT '',           -- database_place() when the epoch began
    seal_key bytea NOT NULL DEFAULT '',       -- never leaves the hub; proves what it has served
    lease_days integer NOT NULL DEFAULT 60,
    max_devices integer NOT NULL DEFAULT 20,
    max_entries bigint NOT NULL DEFAULT 0,    -- 0: no limit
    refusal_days integer NOT NULL DEFAULT 90,
    -- Whether a reviewer must agree before an edit of somebody else's memory counts.
    review_edits boolean NOT NULL DEFAULT false,
    -- The model of the vectors, because those of two models cannot be compared; empty before the first one.
    model text NOT NULL DEFAULT '',
    team_id uuid PRIMARY KEY DEFAULT team()
);
CREATE UNIQUE INDEX teams_name ON teams (name);

-- A log has an epoch. A restored or failed-over database begins a new one, so that devices read again what changed and
-- send back what it lost. The hub then writes a new chain: the old one may have entries that only devices still have.
CREATE TABLE epochs (
    number bigint GENERATED ALWAYS AS IDENTITY,
    id text COLLATE "C" NOT NULL,
    chain text COLLATE "C" NOT NULL,       -- which the hub writes in this epoch
    began_at text COLLATE "C" NOT NULL,
    base bigint NOT NULL,                  -- entries up to this position are the same as in the epoch before
    why text NOT NULL,
    returned bigint NOT NULL DEFAULT 0,    -- entries that devices sent back in it
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, number)
);
-- What a restore or failover changes: the cluster, its timeline, the database, or the table. NULL on a replica. Some
-- providers hide the cluster and its timeline; devices notice a restore there.
CREATE FUNCTION database_place() RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    cluster text := '';
    timeline text := '';
BEGIN
    IF pg_is_in_recovery() THEN
        RETURN NULL;
    END IF;
    BEGIN
        cluster := (SELECT system_identifier FROM pg_control_system());
        timeline := left(pg_walfile_name(pg_current_wal_lsn()), 8);
    EXCEPTION WHEN insufficient_privilege OR feature_not_supported OR undefined_function THEN
        NULL;
    END;
    RETURN concat_ws(
        '/', cluster, timeline, (SELECT oid FROM pg_database WHERE datname = current_database()),
        'hivemind.teams'::regclass::oid
    );
END $$;

CREATE TABLE devices (
    key bigint GENERATED ALWAYS AS IDENTITY,
    id text COLLATE "C" NOT NULL,
    last_seq bigint NOT NULL,
    last_hash text NOT NULL,
    shared integer NOT NULL DEFAULT 0,
    person text NOT NULL DEFAULT '',
    cursor bigint NOT NULL DEFAULT 0,
    last_seen_at text NOT NULL DEFAULT '',
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, key),
    UNIQUE (team_id, id),
    UNIQUE (team_id, key, shared)
);
CREATE TABLE events (
    position bigint GENERATED ALWAYS AS IDENTITY,
    id text COLLATE "C" NOT NULL,
    device bigint NOT NULL,
    device_seq bigint NOT NULL,
    prev_hash text NOT NULL,
    at text COLLATE "C" NOT NULL,
    actor text NOT NULL,
    channel text NOT NULL,
    scope text NOT NULL,
    repo text NOT NULL,
    session text NOT NULL,
    batch text NOT NULL,
    about text COLLATE "C" NOT NULL,
    fact text NOT NULL,
    digest text NOT NULL,
    private integer GENERATED ALWAYS AS (CASE WHEN scope <> 'team' THEN 0 END) STORED,
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, position),
    UNIQUE (team_id, id),
    UNIQUE (team_id, device, device_seq),
    FOREIGN KEY (team_id, device) REFERENCES devices (team_id, key),
    -- What is private cannot stand in a chain that is shared; NULL, for what is the team's, refers to nothing.
    CONSTRAINT only_the_teams_is_shared FOREIGN KEY (team_id, device, private)
        REFERENCES devices (team_id, key, shared),
    -- What is somebody's own never comes here as a memory, whoever sends it.
    CONSTRAINT memories_are_the_teams CHECK (scope = 'team' OR fact NOT LIKE 'memory.%')
);
CREATE INDEX events_about ON events (team_id, about, at) WHERE about <> '';
-- Narrow, so that vacuuming it after an erasure is quick.
CREATE TABLE bodies (
    position bigint NOT NULL,
    salt bytea NOT NULL,
    content text NOT NULL,
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, position),
    FOREIGN KEY (team_id, position) REFERENCES events (team_id, position)
);
CREATE TABLE absent (
    position bigint NOT NULL,
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, position),
    FOREIGN KEY (team_id, position) REFERENCES events (team_id, position)
);
CREATE TABLE erased (
    name text COLLATE "C" NOT NULL,
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, name)
);
CREATE TABLE bookmarks (
    reader text NOT NULL,
    position bigint NOT NULL,
    version integer NOT NULL,
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, reader)
);

-- From here on, what is derived from the log.
CREATE TABLE memories (
    key bigint GENERATED ALWAYS AS IDENTITY,
    id text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    bucket text NOT NULL,
    text text NOT NULL,
    scope text NOT NULL,
    repo text COLLATE "C" NOT NULL,
    owner text NOT NULL,
    channel text NOT NULL,
    trust integer NOT NULL,
    status text NOT NULL,
    recorded_at text COLLATE "C" NOT NULL,
    revised_at text COLLATE "C" NOT NULL,
    tags text NOT NULL,
    sources text NOT NULL,
    links text NOT NULL,
    anchors text NOT NULL,
    subject text NOT NULL,
    confidence double precision NOT NULL,
    valid_from text COLLATE "C" NOT NULL,
    valid_to text COLLATE "C" NOT NULL,
    expires_at text COLLATE "C" NOT NULL,
    verify_by text COLLATE "C" NOT NULL,
    last_verified_at text COLLATE "C" NOT NULL,
    supersedes text NOT NULL,
    superseded_by text,
    contradicts text NOT NULL,
    derived_from text NOT NULL,
    batch text NOT NULL,
    action text,
    reasoning text,
    result text,
    version integer NOT NULL,
    agent text NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    file_path text NOT NULL,
    head text NOT NULL DEFAULT '',
    rivals text NOT NULL DEFAULT '[]',
    metadata text NOT NULL DEFAULT '{}',
    disputed_at text NOT NULL DEFAULT '',
    edited_by text NOT NULL DEFAULT '',   -- who edited it last
    edited_through text,
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, key),
    UNIQUE (team_id, id)
);
CREATE INDEX memories_place ON memories (team_id, repo, scope, recorded_at);
CREATE INDEX memories_time ON memories (team_id, recorded_at, id);
CREATE INDEX memories_session ON memories (team_id, session_id, recorded_at, id) WHERE session_id <> '';
CREATE INDEX memories_derived ON memories (team_id) WHERE derived_from <> '[]';
CREATE INDEX memories_anchored ON memories (team_id) WHERE anchors <> '[]';
CREATE INDEX memories_subject ON memories (team_id, subject) WHERE subject <> '';

CREATE TABLE tombstones (
    value text COLLATE "C" NOT NULL,
    memory_id text COLLATE "C" NOT NULL,
    repo text NOT NULL,
    reason text NOT NULL,
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, value, memory_id)
);
CREATE INDEX tombstones_memory ON tombstones (team_id, memory_id);
-- By what erased texts are found inside longer ones.
CREATE TABLE erased_texts (
    memory_id text COLLATE "C" NOT NULL,
    place integer NOT NULL,
    scope text NOT NULL,
    imprint text NOT NULL,
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, memory_id, place)
);
CREATE TABLE receipts (
    id text COLLATE "C" NOT NULL,
    memory_id text COLLATE "C" NOT NULL,
    at text COLLATE "C" NOT NULL,
    actor text NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    query text NOT NULL,
    rank integer NOT NULL,
    score double precision NOT NULL,
    tokens integer NOT NULL,
    why text NOT NULL,
    is_unasked integer NOT NULL DEFAULT 0,
    is_in_doubt integer NOT NULL DEFAULT 0,  -- its code had changed
    occasion text NOT NULL DEFAULT '',       -- the action at which it was told unasked: before an edit, after a failure
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, id, rank)
);
CREATE INDEX receipts_memory ON receipts (team_id, memory_id, at);
CREATE INDEX receipts_session ON receipts (team_id, session_id, at) WHERE session_id <> '';
-- Old receipts are deleted where the operator says so.
CREATE INDEX receipts_time ON receipts (team_id, at);
-- Always empty on a hub: sessions stay on the machines. Statements that both engines share ask these tables.
CREATE TABLE sessions (
    id text COLLATE "C" NOT NULL,
    agent text NOT NULL,
    repo text COLLATE "C" NOT NULL,
    directory text COLLATE "C" NOT NULL,
    started_at text COLLATE "C" NOT NULL,
    last_seen_at text COLLATE "C" NOT NULL,
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, id)
);
CREATE TABLE observations (
    id text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    at text COLLATE "C" NOT NULL,
    seen text NOT NULL,
    text text NOT NULL,
    tool text NOT NULL,
    command text NOT NULL,
    exit_code integer,
    failed boolean NOT NULL,
    file text NOT NULL,
    edited boolean NOT NULL,
    subagent text NOT NULL,
    size integer NOT NULL,
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, id),
    FOREIGN KEY (team_id, session_id) REFERENCES sessions (team_id, id)
);
CREATE INDEX observations_session ON observations (team_id, session_id, at);
CREATE TABLE repositories (
    repo text COLLATE "C" NOT NULL,
    root text COLLATE "C" NOT NULL,
    -- The mark of a working tree, which stays when the address of its repository changes.
    tree text COLLATE "C" NOT NULL DEFAULT '',
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, repo, root, tree)
);
CREATE INDEX repositories_root ON repositories (team_id, root);
CREATE INDEX repositories_tree ON repositories (team_id, tree) WHERE tree <> '';

CREATE TABLE passages (
    key bigint GENERATED ALWAYS AS IDENTITY,
    memory bigint NOT NULL,
    ordinal integer NOT NULL,
    since text COLLATE "C" NOT NULL,
    until text COLLATE "C" NOT NULL,
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, key),
    FOREIGN KEY (team_id, memory) REFERENCES memories (team_id, key)
);
CREATE INDEX passages_memory ON passages (team_id, memory);
CREATE TABLE words (
    rowid bigint NOT NULL,        -- of the passage
    text text NOT NULL,
    context text NOT NULL,
    around text NOT NULL,
    stems tsvector NOT NULL,      -- weights A to D: text, parts, context, around; and the team, as a word
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, rowid)
);
-- New words go into the index at once. In a list beside it, each search would read all of them until the next vacuum:
-- after 12,000 new passages that took as long as the search itself.
CREATE INDEX words_stems ON words USING gin (stems) WITH (fastupdate = off);
CREATE TABLE word_counts (        -- how many passages have a word; for the team's own name, how many there are
    term text COLLATE "C" NOT NULL,
    doc bigint NOT NULL,
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, term)
) WITH (fillfactor = 70);
CREATE TABLE vectors (
    passage bigint NOT NULL,
    model text NOT NULL,
    scale double precision NOT NULL,
    numbers bytea NOT NULL,
    place bigint NOT NULL,        -- a number for scope and repository
    embedding halfvec NOT NULL,
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, passage)
);
-- The passages of a repository, which are compared one by one where they are few. One graph for all teams would lose
-- results: a search that keeps one team's vectors gives up before it has found enough of them. So a large team gets a
-- graph of its own (hub/derived_data.py); in a small one all vectors are compared.
CREATE INDEX vectors_place ON vectors (team_id, place);
-- A queue: a worker claims some passages for a while, and other workers skip these.
CREATE TABLE vectors_wanted (
    passage bigint NOT NULL,
    claimed_until timestamptz NOT NULL DEFAULT '-infinity',
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, passage)
);

-- Who may come in.
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
    -- A login of a person is a token that is valid for a short time and replaced when it is renewed. By the hash before
    -- the current one the hub notices that two devices use the same login.
    person text COLLATE "C" NOT NULL DEFAULT '',
    previous_hash text COLLATE "C" NOT NULL DEFAULT '',
    team_id uuid NOT NULL DEFAULT team() REFERENCES teams (team_id),
    PRIMARY KEY (team_id, id)
);
CREATE INDEX tokens_previous ON tokens (previous_hash) WHERE previous_hash <> '';
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
CREATE TABLE refusals (
    at text COLLATE "C" NOT NULL,
    who text NOT NULL,
    what text NOT NULL,
    why text NOT NULL,
    team_id uuid DEFAULT team()   -- none where the caller belonged to no team
);
CREATE INDEX refusals_time ON refusals (team_id, at);
-- People who sign in at an identity provider. They belong to the hub and not to a team, because one person may be in
-- several teams and is offboarded from all of them at once. Only the functions below reach these rows.
CREATE TABLE people (
    id text COLLATE "C" PRIMARY KEY,       -- derived from issuer and subject
    issuer text NOT NULL,
    subject text NOT NULL,
    name text NOT NULL UNIQUE,             -- stays the same, because it is the author of what the person wrote
    removed_at text COLLATE "C" NOT NULL DEFAULT ''
);
-- ID tokens that were accepted, until they expire: each is good for one login.
CREATE TABLE used_proofs (
    digest text COLLATE "C" PRIMARY KEY,
    expires_at text COLLATE "C" NOT NULL
);
-- People whom an admin removed from one team; the provider may still count them in its group.
CREATE TABLE removed_people (
    person text COLLATE "C" NOT NULL,
    at text COLLATE "C" NOT NULL,
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, person)
);
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

-- Row-level security on all of them, which binds the owner too.
DO $$
DECLARE name text;
BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'hivemind' AND tablename <> 'migrations' LOOP
        -- Without statistics of the column, a statement is planned alike for every team. With them Postgres expects a
        -- new team to have one row, and then compares everything with everything at its first large push.
        IF name NOT IN ('people', 'used_proofs') THEN
            EXECUTE format('ALTER TABLE hivemind.%I ALTER team_id SET STATISTICS 0', name);
        END IF;
        EXECUTE format('ALTER TABLE hivemind.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE hivemind.%I FORCE ROW LEVEL SECURITY', name);
        IF name NOT IN ('people', 'used_proofs', 'refusals') THEN
            EXECUTE format('CREATE POLICY own_team ON hivemind.%I USING (team_id = team())', name);
            EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON hivemind.%I TO hivemind_hub', name);
        END IF;
        IF name IN ('tokens', 'visits', 'people', 'used_proofs', 'removed_people') THEN
            EXECUTE format('CREATE POLICY asked_at_the_door ON hivemind.%I TO hivemind_door USING (true)', name);
        END IF;
    END LOOP;
END $$;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA hivemind TO hivemind_hub;
-- What was recorded is never changed, by whatever mistake of ours.
REVOKE UPDATE, DELETE ON events FROM hivemind_hub;
REVOKE UPDATE ON visits, removed_people, devices FROM hivemind_hub;
-- A chain never changes whether it is shared.
GRANT UPDATE (last_seq, last_hash, person, cursor, last_seen_at) ON devices TO hivemind_hub;

CREATE POLICY own_team ON refusals FOR SELECT USING (team_id = team());
CREATE POLICY noted_at_the_door ON refusals TO hivemind_door USING (true);
CREATE POLICY named_at_the_door ON teams FOR SELECT TO hivemind_door USING (true);
GRANT SELECT ON refusals TO hivemind_hub;
GRANT SELECT, INSERT, DELETE ON refusals, used_proofs TO hivemind_door;
GRANT SELECT, INSERT, UPDATE ON people TO hivemind_door;
GRANT SELECT ON visits, removed_people TO hivemind_door;
GRANT SELECT, UPDATE (last_used_at) ON tokens TO hivemind_door;
GRANT SELECT (team_id, name, refusal_days) ON teams TO hivemind_door;

CREATE POLICY searched ON words FOR SELECT TO hivemind_index USING (true);
CREATE POLICY searched ON vectors FOR SELECT TO hivemind_index USING (true);
CREATE POLICY searched ON word_counts FOR SELECT TO hivemind_index USING (true);
CREATE POLICY queued ON vectors_wanted FOR SELECT TO hivemind_index USING (true);
CREATE POLICY queued ON teams FOR SELECT TO hivemind_index USING (true);
GRANT SELECT ON words, vectors, word_counts, vectors_wanted TO hivemind_index;
GRANT SELECT (team_id, name, model) ON teams TO hivemind_index;

-- Passages of this team that match, the best fitting first: rare words count more than common ones.
-- The sum is written out, because a subquery for each row costs as much as the ranking. The team is a constant in the
-- statement, because team() would be evaluated for each row, and the length of a text is measured once for it and not
-- for each word.
CREATE FUNCTION best_matching(asked tsquery, terms tsquery[], weights real[], looked_at integer)
RETURNS TABLE (key bigint, score real)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50 SET search_path = hivemind, pg_temp
AS $$
DECLARE fit text := (
    SELECT string_agg(format('%s * ts_rank(''{0.35, 0.6, 0.5, 1.0}'', w.stems, %L)', t.weight, t.term), ' + ')
    FROM unnest(terms, weights) AS t (term, weight)
);
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT w.rowid, ((%s) / (ln(length(w.stems) + 1.0::float8) * 1.4427))::real AS fit FROM hivemind.words w'
        ' WHERE w.team_id = %L AND w.stems @@ $1 ORDER BY fit DESC, w.rowid DESC LIMIT $2', fit, team()
    ) USING quote_literal(team()::text)::tsquery && asked, looked_at;
END $$;

-- Passages of this team that have all of it, the newest first.
CREATE FUNCTION saying(asked tsquery, at_most integer) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50 SET search_path = hivemind, pg_temp AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT w.rowid FROM hivemind.words w WHERE w.team_id = %L AND w.stems @@ $1 ORDER BY w.rowid DESC LIMIT $2',
        team()
    ) USING quote_literal(team()::text)::tsquery && asked, at_most;
END $$;

-- Only the coordinator of a distributed database calls this, and the settings are unknown on its other servers.
SET LOCAL citus.enable_ddl_propagation = off;
-- Passages of this team near in meaning; a small team's are all compared, a large one's by its graph. A graph is
-- searched as widely as its team is large: the share of the nearest passages that is found then stays the same, and a
-- small team costs a quarter.
CREATE FUNCTION nearest_passages(
    asked halfvec, of_model text, places bigint[], everywhere boolean, at_most integer, most_compared integer,
    breadth double precision
) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50 SET search_path = hivemind, public, pg_temp
SET hnsw.iterative_scan = relaxed_order SET hnsw.ef_search = 200 SET hnsw.max_scan_tuples = 200000
SET enable_seqscan = off -- reads the vectors of other teams
AS $$
DECLARE
    -- Constants, because only then does Postgres see that the graph of the team covers the statement.
    condition text := format('v.team_id = %L AND v.model = %L', team(), of_model);
    dimensions text := vector_dims(asked);
    distance text := format('v.embedding::halfvec(%s) <=> $1::halfvec(%s)', dimensions, dimensions);
    -- The count of the team's own name is the number of its passages.
    in_team bigint;
    passages bigint;
BEGIN
    EXECUTE format('SELECT doc FROM hivemind.word_counts WHERE team_id = %L AND term = %L', team(), team()) INTO in_team;
    passages := in_team;
    IF NOT everywhere THEN
        condition := condition || format(' AND v.place = ANY (%L)', places);
        -- Counted from the index alone, and no further than it matters.
        EXECUTE format(
            'SELECT count(*) FROM (SELECT 1 FROM hivemind.vectors WHERE team_id = %L AND place = ANY (%L) LIMIT %s) v',
            team(), places, most_compared + 1
        ) INTO passages;
    END IF;
    IF passages <= most_compared THEN
        -- Adding nothing keeps the graph out of it.
        distance := '(v.embedding <=> $1) + 0';
    ELSE
        -- pgvector accepts no more than 1000. The setting ends with this function, because the function sets it too.
        PERFORM set_config(
            'hnsw.ef_search', least(1000, greatest(200, round(breadth * sqrt(in_team))))::text, true
        );
    END IF;
    RETURN QUERY EXECUTE format('SELECT v.passage FROM hivemind.vectors v WHERE %s ORDER BY %s LIMIT $2', condition, distance)
    USING asked, at_most;
END $$;
SET LOCAL citus.enable_ddl_propagation = on;

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

CALL hand_over(
    'hivemind_index', 'best_matching', 'saying', 'nearest_passages', 'waiting_team'
);

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

CREATE FUNCTION visit_of(digest text, moment text) RETURNS TABLE (team text, token text, name text, role text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = hivemind, pg_temp AS $$
    SELECT v.team_id::text, coalesce(v.token, ''), v.name, v.role FROM visits v
    LEFT JOIN tokens t ON t.team_id = v.team_id AND t.id = v.token
    WHERE v.hash = digest AND v.expires_at > moment
      AND (v.token IS NULL OR (t.revoked_at = '' AND t.expires_at > moment))
$$;

-- For whoever runs the hub.
CREATE FUNCTION list_teams() RETURNS TABLE (id text, name text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = hivemind, pg_temp
AS $$ SELECT team_id::text, name FROM teams ORDER BY name $$;

-- For the caller of a token that is not valid: a device whose access was revoked deletes its copy, one whose token has
-- only expired keeps it.
CREATE FUNCTION is_revoked(digest text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = hivemind, pg_temp
AS $$ SELECT EXISTS (SELECT FROM tokens WHERE hash = digest AND revoked_at <> '') $$;

CREATE FUNCTION note_refusal(whose text, moment text, asker text, what text, why text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = hivemind, pg_temp
AS $$ INSERT INTO refusals VALUES (moment, asker, what, why, nullif(whose, '')::uuid) $$;

-- Anybody can cause refusals, so they end by themselves.
CREATE FUNCTION prune_refusals(whose text, moment text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = hivemind, pg_temp AS $$
    DELETE FROM refusals r WHERE r.team_id IS NOT DISTINCT FROM nullif(whose, '')::uuid AND r.at < to_char(
        moment::timestamptz AT TIME ZONE 'UTC'
        - make_interval(days => coalesce((SELECT refusal_days FROM teams t WHERE t.team_id = r.team_id), 90)),
        'YYYY-MM-DD"T"HH24:MI:SS'
    )
$$;

-- The person of a subject, stored at the first login. The name that the provider suggests may belong to somebody else
-- by now, such as an address that was given to a new employee; then the subject is the name.
CREATE FUNCTION person_of(asked text, of_issuer text, of_subject text, wanted text)
RETURNS TABLE (name text, removed_at text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hivemind, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM people p WHERE p.id = asked) THEN
        INSERT INTO people (id, issuer, subject, name) VALUES (asked, of_issuer, of_subject, CASE
            WHEN EXISTS (SELECT FROM people p WHERE p.name = wanted) THEN of_subject ELSE wanted
        END) ON CONFLICT DO NOTHING;
    END IF;
    RETURN QUERY SELECT p.name, p.removed_at FROM people p WHERE p.id = asked;
END $$;

CREATE FUNCTION find_person(asked text) RETURNS TABLE (id text, name text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = hivemind, pg_temp AS $$
    SELECT p.id, p.name FROM people p WHERE p.name = asked OR p.subject = asked ORDER BY p.name = asked DESC LIMIT 1
$$;

CREATE FUNCTION set_removal(asked text, moment text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = hivemind, pg_temp
AS $$ UPDATE people SET removed_at = moment WHERE id = asked $$;

CREATE FUNCTION is_removed(asked text, whose text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = hivemind, pg_temp AS $$
    SELECT EXISTS (SELECT FROM people p WHERE p.id = asked AND p.removed_at <> '')
        OR EXISTS (SELECT FROM removed_people r WHERE r.person = asked AND r.team_id = nullif(whose, '')::uuid)
$$;

-- A login by its current token or the one before, also an expired or revoked one.
CREATE FUNCTION login_of(digest text)
RETURNS TABLE (team text, id text, name text, role text, person text, hash text, is_revoked boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = hivemind, pg_temp AS $$
    SELECT t.team_id::text, t.id, t.name, t.role, t.person, t.hash, t.revoked_at <> '' FROM tokens t
    WHERE t.person <> '' AND (t.hash = digest OR (t.previous_hash <> '' AND t.previous_hash = digest)) LIMIT 1
$$;

CREATE FUNCTION use_proof(asked text, until text, moment text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hivemind, pg_temp AS $$
BEGIN
    DELETE FROM used_proofs WHERE expires_at < moment;
    INSERT INTO used_proofs VALUES (asked, until) ON CONFLICT DO NOTHING;
    RETURN FOUND;
END $$;
CALL hand_over(
    'hivemind_door', 'token_of', 'visit_of', 'team_named', 'has_teams', 'list_teams', 'is_revoked', 'note_refusal',
    'prune_refusals', 'person_of', 'find_person', 'set_removal', 'is_removed', 'login_of', 'use_proof'
);
