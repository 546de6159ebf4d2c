; wheel: tree_sitter_rust
; files: *.rs
; quotes: "

(function_item name: (_) @name body: (_) @body) @function
(function_signature_item name: (_) @name) @function
(struct_item name: (_) @name body: (_) @body) @struct
(struct_item name: (_) @name !body) @struct
(union_item name: (_) @name body: (_) @body) @struct
(enum_item name: (_) @name body: (_) @body) @enum
(trait_item name: (_) @name body: (_) @body) @trait
(impl_item type: [(type_identifier) @name (generic_type type: (type_identifier) @name)
  (scoped_type_identifier name: (_) @name) (reference_type (type_identifier) @name)] body: (_) @body) @impl
(mod_item name: (_) @name body: (_) @body) @module
(macro_definition name: (_) @name . (macro_rule) @body) @macro
(const_item name: (_) @name value: (_) @body) @const
(static_item name: (_) @name value: (_) @body) @const
(type_item name: (_) @name type: (_) @body) @type

[(line_comment) (block_comment)] @comment
((attribute_item (attribute . (identifier) @_lint)) @prefix (#not-any-of? @_lint "allow" "expect" "warn" "deny"))
((attribute_item (attribute . (scoped_identifier))) @prefix)
; These speak to the compiler's warnings, as a comment does.
((attribute_item (attribute . (identifier) @_lint)) @comment (#any-of? @_lint "allow" "expect" "warn" "deny"))

(call_expression function: [(identifier) @call (field_expression field: (field_identifier) @call)
  (scoped_identifier name: (identifier) @call)
  (generic_function function: (identifier) @call) (generic_function function: (scoped_identifier name: (_) @call))])
(macro_invocation macro: [(identifier) @call (scoped_identifier name: (identifier) @call)])
; The arguments of a macro are not parsed; a name before a group is a call there.
(token_tree (identifier) @call . (token_tree))
(struct_expression name: [(type_identifier) @call (scoped_type_identifier name: (_) @call)])
(use_declaration argument: (_) @import)
(mod_item name: (_) @import !body)
(impl_item trait: [(type_identifier) @inherit (generic_type type: (type_identifier) @inherit) (scoped_type_identifier name: (_) @inherit)])
