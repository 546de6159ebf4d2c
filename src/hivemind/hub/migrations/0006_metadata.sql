ALTER TABLE memories ADD COLUMN metadata text NOT NULL DEFAULT '{}';

-- What our statements call as SQLite names it, for objects without objects in them.
CREATE FUNCTION json_patch(text, text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN ($1::jsonb || $2::jsonb)::text;
