; wheel: tree_sitter_markdown
; files: *.md *.markdown *.mdx

(section . (atx_heading heading_content: (_) @name) . (_) @body) @section
(section . (atx_heading heading_content: (_) @name) .) @section
(section . (setext_heading heading_content: (_) @name) . (_) @body) @section

(html_block) @comment
