; wheel: tree_sitter_cpp
; files: *.cc *.cpp *.cxx *.c++ *.hpp *.hh *.hxx *.h *.ipp *.cu
; inherits: c

(function_definition declarator: [
  (function_declarator declarator: [(field_identifier) (destructor_name) (operator_name)] @name)
  (pointer_declarator declarator: (function_declarator declarator: [(field_identifier) (operator_name)] @name))
  (reference_declarator (function_declarator declarator: [(identifier) (field_identifier) (operator_name)] @name))
  ] body: (_) @body) @function
(function_definition declarator: [
  (function_declarator declarator: (qualified_identifier scope: (_) @scope name: (_) @name))
  (pointer_declarator declarator: (function_declarator declarator: (qualified_identifier scope: (_) @scope name: (_) @name)))
  (reference_declarator (function_declarator declarator: (qualified_identifier scope: (_) @scope name: (_) @name)))
  ] body: (_) @body) @function
(template_declaration (function_definition declarator: (function_declarator declarator: (_) @name))) @extent
(class_specifier name: (_) @name body: (_) @body) @class
(template_declaration (class_specifier name: (_) @name)) @extent
(template_declaration (struct_specifier name: (_) @name)) @extent
(namespace_definition name: (_) @name body: (_) @body) @module
(alias_declaration name: (_) @name type: (_) @body) @type
(concept_definition name: (_) @name (_) @body) @type
(field_declaration declarator: (function_declarator declarator: (field_identifier) @name)) @prototype

(call_expression function: [(qualified_identifier name: (identifier) @call) (template_function name: (identifier) @call)])
(new_expression type: (type_identifier) @call)
(base_class_clause [(type_identifier) @inherit (qualified_identifier name: (_) @inherit) (template_type name: (_) @inherit)])
