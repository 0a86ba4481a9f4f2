; The text of a prompt is a Jinja template.
((system (string) @injection.content) (#set! injection.language "jinja") (#set! injection.include-children))
((instruction (string) @injection.content) (#set! injection.language "jinja") (#set! injection.include-children))
((user (string) @injection.content) (#set! injection.language "jinja") (#set! injection.include-children))
((assistant (string) @injection.content) (#set! injection.language "jinja") (#set! injection.include-children))
((partial (string) @injection.content) (#set! injection.language "jinja") (#set! injection.include-children))
