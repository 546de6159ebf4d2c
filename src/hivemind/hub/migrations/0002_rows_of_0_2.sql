-- Breaking: programs of 0.2 look for their own migrations. Moves the rows of a hub of 0.2 into the tables of this version;
-- before it, the program has renamed the schema of 0.2 to hivemind_0_2. Does nothing on every other hub.
DO $$
DECLARE
    source regnamespace := to_regnamespace('hivemind_0_2');
    name text;
    names text;
    counter text;
BEGIN
    IF source IS NULL THEN
        RETURN;
    END IF;
    -- Tables that others refer to come first. Keys are kept, so that references stay valid.
    FOREACH name IN ARRAY ARRAY[
        'teams', 'epochs', 'devices', 'events', 'bodies', 'absent', 'erased', 'bookmarks', 'memories', 'tombstones',
        'erased_texts', 'receipts', 'sessions', 'observations', 'repositories', 'passages', 'words', 'word_counts',
        'vectors', 'vectors_wanted', 'people', 'tokens', 'visits', 'removed_people', 'removed_devices', 'device_logins',
        'used_proofs', 'refusals'
    ] LOOP
        CONTINUE WHEN to_regclass('hivemind_0_2.' || name) IS NULL;
        SELECT string_agg(quote_ident(old.attname), ', ') INTO names
        FROM pg_attribute old JOIN pg_attribute new ON new.attname = old.attname
        WHERE old.attrelid = to_regclass('hivemind_0_2.' || name) AND new.attrelid = to_regclass('hivemind.' || name)
            AND old.attnum > 0 AND NOT old.attisdropped AND NOT new.attisdropped AND new.attgenerated = '';
        -- Otherwise the owner would see the rows of no team.
        EXECUTE format('ALTER TABLE hivemind_0_2.%I NO FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE hivemind.%I NO FORCE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'INSERT INTO hivemind.%1$I (%2$s) OVERRIDING SYSTEM VALUE SELECT %2$s FROM hivemind_0_2.%1$I', name, names
        );
        EXECUTE format('ALTER TABLE hivemind.%I FORCE ROW LEVEL SECURITY', name);
        -- New keys go on after the old ones.
        FOR counter IN
            SELECT attname FROM pg_attribute WHERE attrelid = to_regclass('hivemind.' || name) AND attidentity <> ''
        LOOP
            EXECUTE format('SELECT setval(pg_get_serial_sequence(%L, %L), last_value, is_called) FROM %s',
                'hivemind.' || name, counter, pg_get_serial_sequence('hivemind_0_2.' || name, counter));
        END LOOP;
    END LOOP;
    -- This is the same database in another table; a restored one would begin a new epoch (hub/epochs.py).
    ALTER TABLE hivemind.teams NO FORCE ROW LEVEL SECURITY;
    UPDATE hivemind.teams SET place = hivemind.database_place() WHERE place = regexp_replace(
        hivemind.database_place(), '[^/]*$', 'hivemind_0_2.teams'::regclass::oid::text
    );
    ALTER TABLE hivemind.teams FORCE ROW LEVEL SECURITY;
    DROP SCHEMA hivemind_0_2 CASCADE;
END $$;
