; wheel: tree_sitter_php:language_php
; files: *.php *.phtml
; quotes: " '
; arguments: named

(function_definition name: (_) @name body: (_) @body) @function
(class_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @interface
(trait_declaration name: (_) @name body: (_) @body) @trait
(enum_declaration name: (_) @name body: (_) @body) @enum
(method_declaration name: (_) @name body: (_) @body) @method
(method_declaration name: (_) @name !body) @method
(const_declaration (const_element (name) @name (_) @body)) @const
(property_declaration (property_element name: (variable_name (name) @name))) @field

(comment) @comment

(function_call_expression function: [(name) @call (qualified_name (name) @call)])
(member_call_expression name: (name) @call)
(scoped_call_expression name: (name) @call)
(object_creation_expression [(name) @call (qualified_name (name) @call)])
(namespace_use_clause [(qualified_name) (name)] @import)
[(include_expression (string) @import) (require_expression (string) @import)
 (include_once_expression (string) @import) (require_once_expression (string) @import)]
(base_clause [(name) @inherit (qualified_name (name) @inherit)])
(class_interface_clause [(name) @inherit (qualified_name (name) @inherit)])
