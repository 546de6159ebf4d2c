-- One graph for all teams loses results: a search that keeps one team's vectors gives up before it has found enough of
-- them. A large team gets a graph of its own (hub/graphs.py); in a small one all vectors are compared.
DROP INDEX vectors_near;
-- The passages of a repository, which are compared one by one where they are few.
CREATE INDEX vectors_place ON vectors (team_id, place);

-- Replaces near(), which stays for programs of the version before while both serve. Team and model are written into the statement as constants, because only then
-- does Postgres see that the graph of the team covers it.
SELECT '[1]'::halfvec; -- loads the library, without which its settings are unknown
CREATE FUNCTION nearest(
    asked halfvec, of_model text, places bigint[], everywhere boolean, at_most integer, most_compared integer
) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50 SET search_path = hivemind, public, pg_temp
SET hnsw.iterative_scan = relaxed_order SET hnsw.ef_search = 800 SET hnsw.max_scan_tuples = 200000
SET enable_seqscan = off -- reads the vectors of other teams
AS $$
DECLARE
    condition text := format('v.team_id = %L AND v.model = %L', team(), of_model);
    dimensions text := vector_dims(asked);
    distance text := format('v.embedding::halfvec(%s) <=> $1::halfvec(%s)', dimensions, dimensions);
    -- The count of the team's own name is the number of its passages.
    passages bigint := (SELECT doc FROM word_counts c WHERE c.team_id = team() AND c.term = team()::text);
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
    END IF;
    RETURN QUERY EXECUTE format('SELECT v.passage FROM vectors v WHERE %s ORDER BY %s LIMIT $2', condition, distance)
    USING asked, at_most;
END $$;
CALL hand_over('hivemind_index', 'nearest');

-- Replaces matching() in the same way. The team is a constant here, because team() would be evaluated for each row, and
-- the length of a text is measured once for it and not for each word.
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
        'SELECT w.rowid, ((%s) / (ln(length(w.stems) + 1.0::float8) * 1.4427))::real AS fit FROM words w'
        ' WHERE w.team_id = %L AND w.stems @@ $1 ORDER BY fit DESC, w.rowid DESC LIMIT $2', fit, team()
    ) USING quote_literal(team()::text)::tsquery && asked, looked_at;
END $$;
CALL hand_over('hivemind_index', 'best_matching');
