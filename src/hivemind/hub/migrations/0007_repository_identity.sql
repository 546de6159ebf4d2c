-- A working tree keeps its mark when the address of its repository changes.
ALTER TABLE repositories ADD COLUMN tree text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE repositories DROP CONSTRAINT repositories_pkey;
ALTER TABLE repositories ADD PRIMARY KEY (team_id, repo, root, tree);
CREATE INDEX repositories_tree ON repositories (team_id, tree) WHERE tree <> '';
