CREATE POLICY searched ON words FOR SELECT TO hivemind_index USING (true);
CREATE POLICY searched ON vectors FOR SELECT TO hivemind_index USING (true);
CREATE POLICY searched ON word_counts FOR SELECT TO hivemind_index USING (true);
GRANT SELECT ON words, vectors, word_counts TO hivemind_index;

-- Passages of this team that match, the best fitting first: rare words count more than common ones.
-- The sum is written out, because a subquery for each row costs as much as the ranking.
CREATE FUNCTION matching(asked tsquery, terms tsquery[], weights real[], looked_at integer)
RETURNS TABLE (key bigint, score real)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50 SET search_path = hivemind, pg_temp
AS $$
DECLARE fit text := (
    SELECT string_agg(format('%s * ts_rank(''{0.35, 0.6, 0.5, 1.0}'', w.stems, %L, 1)', t.weight, t.term), ' + ')
    FROM unnest(terms, weights) AS t (term, weight)
);
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT w.rowid, (%s)::real AS fit FROM words w WHERE w.team_id = team() AND w.stems @@ $1'
        ' ORDER BY fit DESC, w.rowid DESC LIMIT $2', fit
    ) USING quote_literal(team()::text)::tsquery && asked, looked_at;
END $$;

-- Passages of this team that have all of it, the newest first.
CREATE FUNCTION saying(asked tsquery, at_most integer) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50 SET search_path = hivemind, pg_temp SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT w.rowid FROM words w
    WHERE w.team_id = team() AND w.stems @@ (quote_literal(team()::text)::tsquery && asked)
    ORDER BY w.rowid DESC LIMIT at_most;
END $$;

-- Passages of this team near in meaning; a small team's are all compared, a large one's by the graph.
SELECT '[1]'::halfvec; -- loads the library, without which its settings are unknown
CREATE FUNCTION near(asked halfvec, places bigint[], everywhere boolean, at_most integer) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50 SET search_path = hivemind, public, pg_temp
SET plan_cache_mode = force_custom_plan SET hnsw.iterative_scan = relaxed_order SET hnsw.ef_search = 400
AS $$
DECLARE passages bigint := (SELECT doc FROM word_counts c WHERE c.team_id = team() AND c.term = team()::text);
BEGIN
    IF passages < 5000 OR vector_dims(asked) <> 384 THEN
        RETURN QUERY
        SELECT v.passage FROM vectors v
        WHERE v.team_id = team() AND (everywhere OR v.place = ANY (places))
            AND vector_dims(v.embedding) = vector_dims(asked)
        -- Adding nothing keeps the graph out of it.
        ORDER BY (v.embedding <=> asked) + 0 LIMIT at_most;
    ELSE
        RETURN QUERY
        SELECT v.passage FROM vectors v
        WHERE v.team_id = team() AND (everywhere OR v.place = ANY (places)) AND vector_dims(v.embedding) = 384
        ORDER BY v.embedding::halfvec(384) <=> asked::halfvec(384) LIMIT at_most;
    END IF;
END $$;

CALL hand_over('hivemind_index', 'matching', 'saying', 'near');
