-- Nothing calls these any more: best_matching() and nearest() replaced the first two, and each process counts requests in
-- memory (hub/limits.py). No released program uses them, so that nothing breaks while two versions serve side by side.
DROP FUNCTION matching(tsquery, tsquery[], real[], integer);
DROP FUNCTION near(halfvec, bigint[], boolean, integer);
DROP FUNCTION count_request(text, bigint);
DROP TABLE requests;
