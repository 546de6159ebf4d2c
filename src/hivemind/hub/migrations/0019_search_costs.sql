-- Replaces nearest(), which stays for processes of the version before that still answer. A graph is searched as widely as
-- its team is large: the share of the nearest passages that is found then stays the same, and a small team costs a quarter.
SELECT '[1]'::halfvec; -- loads the library, without which its settings are unknown
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
    in_team bigint := (SELECT doc FROM word_counts c WHERE c.team_id = team() AND c.term = team()::text);
    passages bigint := in_team;
BEGIN
    IF NOT everywhere THEN
        condition := condition || format(' AND v.place = ANY (%L)', places);
        -- Counted from the index alone, and no further than it matters.
        passages := (SELECT count(*) FROM (
            SELECT FROM vectors v WHERE v.team_id = team() AND v.place = ANY (places) LIMIT most_compared + 1
        ) AS counted);
    END IF;
    IF passages <= most_compared THEN
        -- Adding nothing keeps the graph out of it.
        distance := '(v.embedding <=> $1) + 0';
    ELSE
        -- 1000 is the most that pgvector accepts. The setting ends with this function, because the function sets it too.
        PERFORM set_config(
            'hnsw.ef_search', least(1000, greatest(200, round(breadth * sqrt(in_team))))::text, true
        );
    END IF;
    RETURN QUERY EXECUTE format('SELECT v.passage FROM vectors v WHERE %s ORDER BY %s LIMIT $2', condition, distance)
    USING asked, at_most;
END $$;
CALL hand_over('hivemind_index', 'nearest_passages');

-- New words go into the index at once. In a list beside it, each search would read all of them until the next vacuum:
-- after 12,000 new passages that took as long as the search itself.
ALTER INDEX words_stems SET (fastupdate = off);
