; wheel: tree_sitter_json
; files: *.json *.jsonc *.json5
; quotes: "

(pair key: (string (string_content) @name) value: (object) @body) @table
(pair key: (string (string_content) @name) value: (_) @body) @key

(comment) @comment
