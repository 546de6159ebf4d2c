-- The log of a store as format 1 kept it; its tables are derived again when it is opened.
CREATE TABLE identity (
    store TEXT NOT NULL,
    device TEXT NOT NULL,
    secret BLOB NOT NULL          -- keys the digests of values that stay out
) STRICT;
CREATE TABLE devices (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    last_seq INTEGER NOT NULL,
    last_hash TEXT NOT NULL      -- of the newest header, so that a missing tail is noticed
) STRICT;
CREATE TABLE events (
    position INTEGER PRIMARY KEY, -- order of arrival here; bookmarks count in it
    id TEXT NOT NULL UNIQUE,
    device INTEGER NOT NULL REFERENCES devices (key),
    device_seq INTEGER NOT NULL,
    prev_hash TEXT NOT NULL,
    at TEXT NOT NULL,
    actor TEXT NOT NULL,
    channel TEXT NOT NULL,
    scope TEXT NOT NULL,
    repo TEXT NOT NULL,
    session TEXT NOT NULL,        -- it was said in
    batch TEXT NOT NULL,          -- the learning run it was part of
    about TEXT NOT NULL,          -- the memory or session
    fact TEXT NOT NULL,
    digest TEXT NOT NULL,
    UNIQUE (device, device_seq)
) STRICT;
CREATE TABLE bodies (
    position INTEGER PRIMARY KEY REFERENCES events (position),
    salt BLOB NOT NULL,
    content TEXT NOT NULL         -- JSON; of observations, packed
) STRICT;
CREATE TABLE erased (             -- memories and entries whose content must not be stored again
    name TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
CREATE TABLE bookmarks (
    reader TEXT PRIMARY KEY,
    position INTEGER NOT NULL,    -- of the last event it has taken in
    version INTEGER NOT NULL
) STRICT;
CREATE INDEX events_about ON events (about, at) WHERE about <> '';
INSERT INTO identity VALUES ('c04b5255a862f121486e76ec23e2a579', 'dfd5008d37e675a8f0b317c5852c1c24', x'7901c157666fa605d1c3416db0e87ecdcdab8e95e4570af1ea256b7e826c0aff');
INSERT INTO devices VALUES (1, 'dfd5008d37e675a8f0b317c5852c1c24', 6, '37777a394f4669093e91803a81a06181df3c1dfc4304b37f5ed25d2d9ff98917');
INSERT INTO events VALUES (1, '019c186e-3268-7be4-8958-6f0b2cf45fb4', 1, 1, '0000000000000000000000000000000000000000000000000000000000000000', '2026-02-01T09:00:01.000000Z', 'ada', 'person', 'project', 'remote:example.org/acme/api', '', '', '', 'repository.seen', '5da46f29dd979d57455465241934f72cda5f89fccab48d19b3656331e0fd8155');
INSERT INTO events VALUES (2, '019c186e-3a38-77a7-9457-da4f101def21', 1, 2, '7e2a6ec70662e5e3c596bd9a4df5afb7517292e63e76eb0825d8114c536cd990', '2026-02-01T09:00:03.000000Z', 'ada', 'person', 'team', 'remote:example.org/acme/api', '', '', 'a1bd1d3f55b1f6808dca20e0af28de96', 'memory.remembered', '988bd76f82495734d6af4979a6ef1fc13a03781f5daf20a06bce3b9799358f5a');
INSERT INTO events VALUES (3, '019c186e-4208-7525-b992-6c3a6b5530ee', 1, 3, '151116cb4e473aaa1696cd9dda993ecf2152ab12d67f1ef565ebb595a6f508e5', '2026-02-01T09:00:05.000000Z', 'ada', 'person', 'project', 'remote:example.org/acme/api', '', '', '5dc5f6108ab4b0efc791c32108a6b7a7', 'memory.remembered', '139365e6fda526245b3a0050f9cf8b41d6e69ab29d6f81cc58f2690d1667450d');
INSERT INTO events VALUES (4, '019c186e-49d8-7f69-9304-73547faf4320', 1, 4, '202fbfdd1e348465b3653db502c59ea1166f94b6563a2960b6a0af5f8584f5ad', '2026-02-01T09:00:07.000000Z', 'ada', 'person', 'team', 'remote:example.org/acme/api', '', '', '046f681f5b763f7a1a47a02c7b011a46', 'memory.remembered', 'd3a6834ee6a4ea0c095fc213e5a2d3feae240a89f27503a4b67778dd9a823d1e');
INSERT INTO events VALUES (5, '019c186e-4dc0-7bb0-b894-b70634e50948', 1, 5, 'bba83d9f3d4a47ffdd319dfa197efce5fea9d1c70926aca817f58314a37bd4cd', '2026-02-01T09:00:08.000000Z', 'ada', 'person', 'team', 'remote:example.org/acme/api', '', '', 'a1bd1d3f55b1f6808dca20e0af28de96', 'memory.revised', 'fe85b6f0926058204abfb6a496e317ec5d5c602b3b0cd64f5fd2fec1c63f595a');
INSERT INTO events VALUES (6, '019c186e-51a8-7f32-94f9-495abec385b0', 1, 6, '8e64a2dc2515ce9e168c84dce36d13e124c03959e79ab2979cb9e4abf4fa159d', '2026-02-01T09:00:09.000000Z', 'ada', 'person', 'team', 'remote:example.org/acme/api', '', '', '046f681f5b763f7a1a47a02c7b011a46', 'memory.erased', 'e4c890b0116a365011435a65ceb7bd0a2f996df4a16394efdc80f56fe2939ab4');
INSERT INTO bodies VALUES (1, x'44df1e89f4017ff85df78d8f53a68536', '{"repo":"remote:example.org/acme/api","root":"/nowhere/api"}');
INSERT INTO bodies VALUES (2, x'ade71754ea1aa61e8a15a7685b29815e', '{"memory_id":"a1bd1d3f55b1f6808dca20e0af28de96","kind":"fact","text":"Deploys run on Fridays","owner":"ada","sources":[{"channel":"person","actor":"ada"}]}');
INSERT INTO bodies VALUES (3, x'3074d994c473bfe487d7450a5e9a2500', '{"memory_id":"5dc5f6108ab4b0efc791c32108a6b7a7","kind":"fact","text":"My editor is set to two spaces","owner":"ada","sources":[{"channel":"person","actor":"ada"}]}');
INSERT INTO bodies VALUES (5, x'e8dd562808cf19b0e92eb1c395d3ade6', '{"memory_id":"a1bd1d3f55b1f6808dca20e0af28de96","base":1,"text":"Deploys run on Thursdays"}');
INSERT INTO bodies VALUES (6, x'36938fdba553f2a913ee9b5f410c79ae', '{"memory_id":"046f681f5b763f7a1a47a02c7b011a46","values":["f7127e60cf483fa242c946264133f2686199baab3527f83d4e25927643f6c756"]}');
INSERT INTO erased VALUES ('046f681f5b763f7a1a47a02c7b011a46');
INSERT INTO bookmarks VALUES ('projections', 6, 4);
PRAGMA user_version = 1;
