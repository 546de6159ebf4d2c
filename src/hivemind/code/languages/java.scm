; wheel: tree_sitter_java
; files: *.java
; quotes: """ " '

(class_declaration name: (_) @name body: (_) @body) @class
(record_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @interface
(annotation_type_declaration name: (_) @name body: (_) @body) @interface
(enum_declaration name: (_) @name body: (_) @body) @enum
(method_declaration name: (_) @name body: (_) @body) @method
(method_declaration name: (_) @name !body) @method
(constructor_declaration name: (_) @name body: (_) @body) @method
(compact_constructor_declaration name: (_) @name body: (_) @body) @method
(field_declaration declarator: (variable_declarator name: (_) @name value: (_) @body)) @field
(field_declaration declarator: (variable_declarator name: (_) @name !value)) @field

[(line_comment) (block_comment)] @comment
; It speaks to the compiler's warnings, as a comment does.
((annotation name: (identifier) @_lint) @comment (#eq? @_lint "SuppressWarnings"))

(method_invocation name: (identifier) @call)
(object_creation_expression type: [(type_identifier) @call (generic_type (type_identifier) @call)])
(import_declaration [(scoped_identifier) (identifier)] @import)
(superclass [(type_identifier) @inherit (generic_type (type_identifier) @inherit)])
(type_list [(type_identifier) @inherit (generic_type (type_identifier) @inherit)])
