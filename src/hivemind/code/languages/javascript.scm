; wheel: tree_sitter_javascript
; files: *.js *.mjs *.cjs *.jsx
; inherits: ecmascript

(field_definition property: (_) @name value: (arrow_function body: (_) @body)) @method
(class_heritage [(identifier) @inherit (member_expression property: (_) @inherit)])
((jsx_opening_element name: (identifier) @call) (#match? @call "^[A-Z]"))
((jsx_self_closing_element name: (identifier) @call) (#match? @call "^[A-Z]"))
