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
-- A login is a token that is valid for a short time and replaced when it is renewed. By the hash before the current one
-- the hub notices that two devices use the same login.
ALTER TABLE tokens ADD COLUMN person text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN previous_hash text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX tokens_previous ON tokens (previous_hash) WHERE previous_hash <> '';

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['people', 'used_proofs', 'removed_people'] LOOP
        EXECUTE format('ALTER TABLE hivemind.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE hivemind.%I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY asked_at_the_door ON hivemind.%I TO hivemind_door USING (true)', name);
    END LOOP;
END $$;
CREATE POLICY own_team ON removed_people USING (team_id = team());
GRANT SELECT, INSERT, UPDATE ON people TO hivemind_door;
GRANT SELECT, INSERT, DELETE ON used_proofs TO hivemind_door;
GRANT SELECT ON removed_people TO hivemind_door;
GRANT SELECT, INSERT, DELETE ON removed_people TO hivemind_hub;

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
    'hivemind_door', 'person_of', 'find_person', 'set_removal', 'is_removed', 'login_of', 'use_proof'
);
