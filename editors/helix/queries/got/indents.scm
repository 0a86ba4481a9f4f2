[
  (prompt_body)
  (body)
  (study_body)
  (examples)
  (match)
  (search)
  (inputs)
  (parameters)
  (settings)
  (list)
  (comprehension)
  (record)
  (record_type)
  (choices)
  (varied)
] @indent

[")" "]" "}"] @outdent

[
  (prompt_body)
  (body)
  (study_body)
] @extend
