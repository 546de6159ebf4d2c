-- A log has an epoch. A restored or failed-over database begins a new one, so that devices read again what changed and
-- send back what it lost. The hub then writes a new chain: the old one may have entries that only devices still have.
ALTER TABLE teams ADD COLUMN epoch text NOT NULL DEFAULT '';
ALTER TABLE teams ADD COLUMN place text NOT NULL DEFAULT '';       -- database_place() when the epoch began
ALTER TABLE teams ADD COLUMN seal_key bytea NOT NULL DEFAULT '';   -- never leaves the hub; proves what it has served

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
ALTER TABLE epochs ENABLE ROW LEVEL SECURITY;
ALTER TABLE epochs FORCE ROW LEVEL SECURITY;
CREATE POLICY own_team ON epochs USING (team_id = team());
GRANT SELECT, INSERT, UPDATE, DELETE ON epochs TO hivemind_hub;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA hivemind TO hivemind_hub;

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
