; wheel: tree_sitter_sql
; files: *.sql
; quotes: " ' `
; noise: ;

(create_table (object_reference name: (_) @name) (column_definitions) @body) @table
(create_view (object_reference name: (_) @name) (create_query) @body) @view
(create_materialized_view (object_reference name: (_) @name) (create_query) @body) @view
(create_function (object_reference name: (_) @name) (function_body) @body) @function
(create_index column: (_) @name) @index
(create_type (object_reference name: (_) @name)) @type
(create_trigger (object_reference name: (_) @name)) @trigger

[(comment) (marginalia)] @comment

(invocation (object_reference name: (_) @call))
(relation (object_reference name: (_) @call))
