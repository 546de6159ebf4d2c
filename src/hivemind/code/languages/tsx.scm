; wheel: tree_sitter_typescript:language_tsx
; files: *.tsx
; inherits: typescript

((jsx_opening_element name: (identifier) @call) (#match? @call "^[A-Z]"))
((jsx_self_closing_element name: (identifier) @call) (#match? @call "^[A-Z]"))
