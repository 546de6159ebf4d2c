; wheel: tree_sitter_yaml
; files: *.yaml *.yml
; quotes: " '
; unsafe: ^[ \t?:-]{200}
; A level of nesting takes at least a column, and at 255 levels the scanner writes past its buffer (0.7).

(block_mapping_pair key: (flow_node (_ (_) @name)) value: (block_node (block_mapping)) @body) @table
(block_mapping_pair key: (flow_node (_ (_) @name)) value: (_) @body) @key
(block_mapping_pair key: (flow_node (_ (_) @name)) !value) @key

(comment) @comment
(block_mapping) @block
