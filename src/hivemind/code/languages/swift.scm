; wheel: tree_sitter_swift
; files: *.swift
; quotes: """ "
; arguments: named

(class_declaration declaration_kind: "struct" name: (_) @name body: (_) @body) @struct
(class_declaration declaration_kind: "enum" name: (_) @name body: (_) @body) @enum
(class_declaration declaration_kind: "extension" name: (_) @name body: (_) @body) @impl
(class_declaration name: (_) @name body: (_) @body) @class
(protocol_declaration name: (_) @name body: (_) @body) @interface
(function_declaration name: (_) @name body: (_) @body) @function
(protocol_function_declaration name: (_) @name) @method
(init_declaration "init" @name body: (_) @body) @method
(typealias_declaration name: (type_identifier) @name) @type
(property_declaration name: (pattern (simple_identifier) @name)) @field

[(comment) (multiline_comment)] @comment

(call_expression [(simple_identifier) @call (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @call))])
(import_declaration (identifier) @import)
(inheritance_specifier inherits_from: (user_type (type_identifier) @inherit))
