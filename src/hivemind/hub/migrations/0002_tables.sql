-- Every row belongs to a team. team_id comes last, so that a statement which does not name it fills it by its default.
CREATE TABLE teams (
    name text NOT NULL,
    device text NOT NULL,         -- the chain of what the hub itself records
    secret bytea NOT NULL,        -- keys the digests of values that stay out; its members hold it too
    team_id uuid PRIMARY KEY DEFAULT team()
);

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
    UNIQUE (team_id, id)
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
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, position),
    UNIQUE (team_id, id),
    UNIQUE (team_id, device, device_seq),
    FOREIGN KEY (team_id, device) REFERENCES devices (team_id, key),
    -- What is somebody's own never comes here as a memory, whoever sends it.
    CONSTRAINT memories_are_the_teams CHECK (scope = 'team' OR fact NOT LIKE 'memory.%')
);
CREATE INDEX events_about ON events (team_id, about, at) WHERE about <> '';
CREATE FUNCTION only_the_teams_is_shared() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.scope <> 'team' AND (SELECT shared FROM devices WHERE key = NEW.device) = 1 THEN
        RAISE check_violation USING MESSAGE = 'only what is the team''s can stand in a chain that is shared';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER only_the_teams_is_shared BEFORE INSERT OR UPDATE OF scope, device ON events
FOR EACH ROW EXECUTE FUNCTION only_the_teams_is_shared();
CREATE FUNCTION a_chain_never_becomes_shared() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE check_violation USING MESSAGE = 'a chain never changes whether it is shared';
END $$;
CREATE TRIGGER a_chain_never_becomes_shared BEFORE UPDATE OF shared ON devices
FOR EACH ROW WHEN (NEW.shared <> OLD.shared) EXECUTE FUNCTION a_chain_never_becomes_shared();

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
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, id, rank)
);
CREATE INDEX receipts_memory ON receipts (team_id, memory_id, at);
CREATE INDEX receipts_session ON receipts (team_id, session_id, at) WHERE session_id <> '';
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
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, repo, root)
);
CREATE INDEX repositories_root ON repositories (team_id, root);

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
CREATE INDEX words_stems ON words USING gin (stems);
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
CREATE INDEX vectors_near ON vectors USING hnsw ((embedding::halfvec(384)) halfvec_cosine_ops)
    WHERE vector_dims(embedding) = 384;
CREATE TABLE vectors_wanted (
    passage bigint NOT NULL,
    team_id uuid NOT NULL DEFAULT team(),
    PRIMARY KEY (team_id, passage)
);

-- Row-level security on all of them, which binds the owner too.
DO $$
DECLARE name text;
BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'hivemind' AND tablename <> 'migrations' LOOP
        EXECUTE format('ALTER TABLE hivemind.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE hivemind.%I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY own_team ON hivemind.%I USING (team_id = team())', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON hivemind.%I TO hivemind_hub', name);
    END LOOP;
END $$;
-- What was recorded is never changed, by whatever mistake of ours.
REVOKE UPDATE, DELETE ON events FROM hivemind_hub;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA hivemind TO hivemind_hub;
