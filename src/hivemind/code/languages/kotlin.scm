; wheel: tree_sitter_kotlin
; files: *.kt *.kts
; quotes: """ " '
; arguments: named

(class_declaration name: (_) @name (class_body) @body) @class
(class_declaration name: (_) @name (enum_class_body) @body) @enum
(class_declaration name: (_) @name) @class
(object_declaration name: (_) @name (class_body) @body) @class
(function_declaration name: (_) @name (function_body) @body) @function
(function_declaration name: (_) @name) @function
(type_alias type: (identifier) @name) @type
(source_file (property_declaration (variable_declaration (identifier) @name) (_) @body .) @const)
(class_body (property_declaration (variable_declaration (identifier) @name)) @field)

[(line_comment) (block_comment)] @comment

(call_expression [(identifier) @call (navigation_expression (identifier) @call .)])
(import (qualified_identifier) @import)
(delegation_specifier [(user_type (identifier) @inherit) (constructor_invocation (user_type (identifier) @inherit))])
