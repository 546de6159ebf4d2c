; wheel: tree_sitter_python
; files: *.py *.pyi
; quotes: """ ''' " '
; arguments: named
; alike: ' "

(function_definition name: (_) @name body: (_) @body) @function
(class_definition name: (_) @name body: (_) @body) @class
(decorated_definition definition: (_ name: (_) @name)) @extent
(module (expression_statement (assignment left: (identifier) @name right: (_) @body)) @const)
(module (expression_statement (assignment left: (identifier) @name !right)) @const)
(type_alias_statement left: (type (identifier) @name) right: (_) @body) @type

(comment) @comment
(block) @block
; A tuple of one is its comma; a formatter may add one elsewhere.
(tuple "(" . (_) . "," . ")") @block
; Normally part of the extent; the grammar loses it when an unindented comment follows.
(decorator) @prefix
(function_definition body: (block . (expression_statement (string)) @doc))
(class_definition body: (block . (expression_statement (string)) @doc))

(call function: [(identifier) @call (attribute attribute: (identifier) @call)])
(decorator [(identifier) @call (attribute attribute: (identifier) @call)])
(import_statement name: [(dotted_name) @import (aliased_import name: (dotted_name) @import)])
(import_from_statement module_name: (dotted_name) @import)
(import_from_statement module_name: (relative_import) @import)
(import_from_statement module_name: (_) @from name: [(dotted_name) @part (aliased_import name: (dotted_name) @part)])
(class_definition superclasses: (argument_list [(identifier) @inherit (attribute attribute: (identifier) @inherit)]))
