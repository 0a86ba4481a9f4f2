; The lines of a block are indented by one level more than the line that opens it.
[
  (prompt)
  (score)
  (metric)
  (scheme)
  (define_operation)
  (study)
  (examples)
  (bind_block)
  (foreach)
  (reduce)
  (repeat)
  (repeated)
  (if)
  (elif)
  (else)
  (match)
  (match_branch)
  (try)
  (search)
  (expand)
  (simulated)
  (valued)
  (first)
  (race)
  (labelled)
] @indent @extend

[
  (inputs)
  (parameters)
  (settings)
  (list)
  (comprehension)
  (record)
  (record_type)
  (choices)
  (varied)
  (call)
  (member_call)
  (group)
] @indent

[")" "]" "}"] @outdent
(if (elif) @outdent)
(if (else) @outdent)
(try (else) @outdent)

[
  (return)
  (skip)
] @extend.prevent-once
