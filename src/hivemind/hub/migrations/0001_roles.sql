-- Two roles that cannot log in. hivemind_hub is who a hub answers as: it owns nothing, and row-level security binds it.
-- hivemind_index owns the search functions alone: Postgres uses no full-text index below row-level security, because
-- its operator is not leakproof. The functions name the team themselves and give back nothing but keys.
DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['hivemind_hub', 'hivemind_index'] LOOP
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
GRANT USAGE ON SCHEMA hivemind TO hivemind_hub, hivemind_index;
CREATE EXTENSION IF NOT EXISTS vector;

CREATE FUNCTION team() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('hivemind.team', true), '')::uuid;

-- What our statements call as SQLite names it; few rows, so that what is asked for leads to the tables and not back.
CREATE FUNCTION json_each(text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE ROWS 10
AS $$ SELECT json_array_elements_text($1::json) $$;
CREATE FUNCTION json_each(text, text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE ROWS 10
AS $$ SELECT json_array_elements_text(coalesce($1::json -> substr($2, 3), '[]')) $$;
CREATE FUNCTION json_extract(text, text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1::json ->> substr($2, 3);
CREATE FUNCTION instr(text, text) RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN strpos($1, $2);

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
