; wheel: tree_sitter_typescript:language_typescript
; files: *.ts *.mts *.cts
; inherits: ecmascript

(abstract_class_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @interface
(type_alias_declaration name: (_) @name value: (_) @body) @type
(enum_declaration name: (_) @name body: (_) @body) @enum
(internal_module name: (_) @name body: (_) @body) @module
(module name: (_) @name body: (_) @body) @module
(method_signature name: (_) @name) @method
(abstract_method_signature name: (_) @name) @method
(function_signature name: (_) @name) @function
(public_field_definition name: (_) @name value: (arrow_function body: (_) @body)) @method

(extends_clause value: [(identifier) @inherit (member_expression property: (_) @inherit)])
(extends_type_clause type: (type_identifier) @inherit)
(implements_clause (type_identifier) @inherit)
