; wheel: tree_sitter_go
; files: *.go
; quotes: " `

(function_declaration name: (_) @name body: (_) @body) @function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @scope
    (generic_type type: (_) @scope)
    (pointer_type (type_identifier) @scope)
    (pointer_type (generic_type type: (_) @scope))]))
  name: (_) @name body: (_) @body) @method
(type_spec name: (_) @name type: (struct_type) @body) @struct
(type_spec name: (_) @name type: (interface_type) @body) @interface
(type_spec name: (_) @name type: (_) @body) @type
(type_alias name: (_) @name type: (_) @body) @type
(type_declaration . (type_spec name: (_) @name) .) @extent
; What is declared alone begins with `var` or `const`, and the directive stands above that.
(var_declaration . (var_spec name: (_) @name) .) @extent
(const_declaration . (const_spec name: (_) @name) .) @extent
(method_elem name: (_) @name) @method
(source_file (const_declaration (const_spec name: (_) @name value: (_) @body) @const))
(source_file (const_declaration (const_spec name: (_) @name) @const))
(source_file (var_declaration (var_spec name: (_) @name value: (_) @body) @const))
(source_file (var_declaration (var_spec name: (_) @name) @const))
(source_file (var_declaration (var_spec_list (var_spec name: (_) @name value: (_) @body) @const)))
(source_file (var_declaration (var_spec_list (var_spec name: (_) @name) @const)))

; Directives are written as comments and belong to what follows them: `//go:embed`, `//export`.
((comment) @prefix (#match? @prefix "^//(go:|export |line )"))
((comment) @comment (#not-match? @comment "^//(go:|export |line )"))

(call_expression function: [(identifier) @call (selector_expression field: (field_identifier) @call)])
(composite_literal type: [(type_identifier) @call (qualified_type name: (type_identifier) @call)])
(import_spec path: (interpreted_string_literal) @import)
(field_declaration !name type: (type_identifier) @inherit)
