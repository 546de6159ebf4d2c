; wheel: tree_sitter_ruby
; files: *.rb *.rake *.gemspec Rakefile Gemfile
; quotes: " ' `

(method name: (_) @name body: (_) @body) @method
(method name: (_) @name !body) @method
(singleton_method name: (_) @name body: (_) @body) @method
(class name: (_) @name body: (_) @body) @class
(class name: (_) @name !body) @class
(module name: (_) @name body: (_) @body) @module
(assignment left: (constant) @name right: (_) @body) @const

(comment) @comment

(call method: (identifier) @call)
(call method: (identifier) @_require arguments: (argument_list . (string (string_content) @import))
  (#any-of? @_require "require" "require_relative" "load" "autoload"))
(superclass [(constant) @inherit (scope_resolution name: (_) @inherit)])
(call method: (identifier) @_include arguments: (argument_list [(constant) @inherit (scope_resolution name: (_) @inherit)])
  (#any-of? @_include "include" "extend" "prepend"))
