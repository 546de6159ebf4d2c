; wheel: tree_sitter_c
; files: *.c
; quotes: " '

(function_definition declarator: [
  (function_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))
  (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))
  ] body: (_) @body) @function
(declaration declarator: [
  (function_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))]) @prototype
(struct_specifier name: (_) @name body: (_) @body) @struct
(union_specifier name: (_) @name body: (_) @body) @struct
(enum_specifier name: (_) @name body: (_) @body) @enum
(type_definition type: (_) @body declarator: (type_identifier) @name) @type
(preproc_function_def name: (_) @name value: (_) @body) @macro
(preproc_def name: (_) @name value: (_) @body) @macro
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name value: (_) @body)) @const)

(comment) @comment

(call_expression function: [(identifier) @call (field_expression field: (field_identifier) @call)])
(preproc_include path: (_) @import)
