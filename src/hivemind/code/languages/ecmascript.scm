; Shared by JavaScript and TypeScript; not a language of its own.
; quotes: " ' `
; alike: ' "
; noise: ;

(function_declaration name: (_) @name body: (_) @body) @function
(generator_function_declaration name: (_) @name body: (_) @body) @function
(class_declaration name: (_) @name body: (_) @body) @class
(method_definition name: (_) @name body: (_) @body) @method
(variable_declarator name: (identifier) @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @function
(program (lexical_declaration . (variable_declarator name: (identifier) @name) .) @extent)
(export_statement declaration: (lexical_declaration . (variable_declarator name: (identifier) @name) .)) @extent
(export_statement declaration: (_ name: (_) @name)) @extent
(program (expression_statement (assignment_expression left: (member_expression property: (_) @name)
  right: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])) @function)
(program (lexical_declaration (variable_declarator name: (identifier) @name value: (_) @body) @const))
(program (variable_declaration (variable_declarator name: (identifier) @name value: (_) @body) @const))
(program (export_statement declaration: (lexical_declaration (variable_declarator name: (identifier) @name value: (_) @body) @const)))

(comment) @comment

(call_expression function: [(identifier) @call (member_expression property: (property_identifier) @call)])
(new_expression constructor: [(identifier) @call (member_expression property: (property_identifier) @call)])
(import_statement source: (string) @import)
(export_statement source: (string) @import)
(call_expression function: (identifier) @_require arguments: (arguments . (string) @import) (#eq? @_require "require"))
(call_expression function: (import) arguments: (arguments . (string) @import))
