; A line is indented by one level inside each of these.
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
] @indent.begin

[")" "]" "}"] @indent.end @indent.branch
(string) @indent.ignore
