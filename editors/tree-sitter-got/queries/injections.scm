; The text of a prompt is a Jinja template.
((system (string (text) @injection.content)) (#set! injection.language "jinja"))
((instruction (string (text) @injection.content)) (#set! injection.language "jinja"))
((user (string (text) @injection.content)) (#set! injection.language "jinja"))
((assistant (string (text) @injection.content)) (#set! injection.language "jinja"))
((partial (string (text) @injection.content)) (#set! injection.language "jinja"))
((comment) @injection.content (#set! injection.language "comment"))
