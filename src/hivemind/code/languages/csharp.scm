; wheel: tree_sitter_c_sharp
; files: *.cs
; quotes: """ " '
; arguments: named

(class_declaration name: (_) @name body: (_) @body) @class
(record_declaration name: (_) @name body: (_) @body) @class
(record_declaration name: (_) @name !body) @class
(struct_declaration name: (_) @name body: (_) @body) @struct
(interface_declaration name: (_) @name body: (_) @body) @interface
(enum_declaration name: (_) @name body: (_) @body) @enum
(namespace_declaration name: (_) @name body: (_) @body) @module
(method_declaration name: (_) @name body: (_) @body) @method
(method_declaration name: (_) @name !body) @method
(constructor_declaration name: (_) @name body: (_) @body) @method
(local_function_statement name: (_) @name body: (_) @body) @function
(property_declaration name: (_) @name [(accessor_list) (arrow_expression_clause)] @body) @property
(delegate_declaration name: (_) @name) @type
(field_declaration (variable_declaration (variable_declarator name: (_) @name))) @field

(comment) @comment

(invocation_expression function: [(identifier) @call (member_access_expression name: (identifier) @call)])
(object_creation_expression type: [(identifier) @call (generic_name (identifier) @call)])
(using_directive [(identifier) (qualified_name)] @import)
(base_list [(identifier) @inherit (generic_name (identifier) @inherit) (qualified_name name: (_) @inherit)])
