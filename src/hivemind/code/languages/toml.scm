; wheel: tree_sitter_toml
; files: *.toml
; quotes: """ ''' " '

(table . [(bare_key) (dotted_key) (quoted_key)] @name . (_) @body) @table
(table . [(bare_key) (dotted_key) (quoted_key)] @name .) @table
(table_array_element . [(bare_key) (dotted_key) (quoted_key)] @name . (_) @body) @table
(pair . [(bare_key) (dotted_key) (quoted_key)] @name . (_) @body) @key

(comment) @comment
