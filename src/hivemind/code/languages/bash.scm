; wheel: tree_sitter_bash
; files: *.sh *.bash *.zsh *.ksh
; quotes: " ' `

(function_definition name: (_) @name body: (_) @body) @function
(program (variable_assignment name: (variable_name) @name value: (_) @body) @const)
(program (declaration_command (variable_assignment name: (variable_name) @name value: (_) @body)) @const)

(comment) @comment

(command name: (command_name (word) @call))
(command name: (command_name (word) @_source) argument: (word) @import (#any-of? @_source "source" "."))
