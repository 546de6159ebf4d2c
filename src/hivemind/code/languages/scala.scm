; wheel: tree_sitter_scala
; files: *.scala *.sc *.sbt
; quotes: """ " 
; arguments: named

(class_definition name: (_) @name body: (_) @body) @class
(class_definition name: (_) @name !body) @class
(object_definition name: (_) @name body: (_) @body) @class
(trait_definition name: (_) @name body: (_) @body) @trait
(enum_definition name: (_) @name body: (_) @body) @enum
(function_definition name: (_) @name body: (_) @body) @function
(function_declaration name: (_) @name) @function
(type_definition name: (_) @name type: (_) @body) @type
(val_definition pattern: (identifier) @name value: (_) @body) @const

[(comment) (block_comment)] @comment
(indented_block) @block

(call_expression function: [(identifier) @call (field_expression field: (identifier) @call)])
(instance_expression (type_identifier) @call)
(import_declaration) @import
(extends_clause type: [(type_identifier) @inherit (generic_type type: (_) @inherit)])
