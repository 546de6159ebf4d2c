; wheel: tree_sitter_yaml
; files: *.yaml *.yml
; quotes: " '

(block_mapping_pair key: (flow_node (_ (_) @name)) value: (block_node (block_mapping)) @body) @table
(block_mapping_pair key: (flow_node (_ (_) @name)) value: (_) @body) @key
(block_mapping_pair key: (flow_node (_ (_) @name)) !value) @key

(comment) @comment
(block_mapping) @block
