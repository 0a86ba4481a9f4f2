; What each node is. No node has two captures, so editors that take the first and those that take the last agree.

(reference (name) @variable)
(names (name) @variable)
(bind_line name: (name) @variable)
(bind_block name: (name) @variable)
(foreach (name) @variable)
(reduce (name) @variable)
(repeat (name) @variable)
(search (name) @variable)
(backup (name) @variable)
(match_branch (name) @variable)
(case_pattern (name) @variable)
(imported_name (name) @variable)
(import_got name: (name) @variable)
(import_corpus name: (name) @variable)
(vary_item (name) @variable)
(param name: (name) @variable)
(module_name (name) @variable)

(typed_name name: (name) @variable.parameter)
(input name: (name) @variable.parameter)
(argument name: (name) @variable.parameter)
(history (name) @variable.parameter)
(column_pair (name) @variable.parameter)

(entry key: (name) @property)
(field name: (name) @property)
(setting name: (name) @property)
(amount (name) @property)
(column (name) @property)
(column (capitalized) @property)

(type_alias name: (_) @type)
(named_type [(name) (capitalized)] @type)
(member_name [(name) (capitalized)] @type)
(case_type [(name) (capitalized)] @type)
(variables [(name) (capitalized)] @type)
(part_type (name) @type)
(imported_name (capitalized) @type)
(case (capitalized) @constructor)
(case_pattern (capitalized) @constructor)

(operation (capitalized) @function.builtin)
(again (capitalized) @function.builtin)
(define_operation name: (capitalized) @function)
(define_function name: (name) @function)
(call function: (name) @function)
(member_call function: (name) @function)
(python_function name: (name) @function)
(prompt name: (name) @function)
(prompt_file name: (name) @function)
(score name: (name) @function)
(metric name: (name) @function)
(scheme name: (name) @function)
(partial name: (name) @function)
(study name: (name) @function)
(study_program (name) @function)
(study_scheme (name) @function)
(parse (name) @function)

(label (name) @label)
(label_reference (name) @label)

(integer) @number
(float) @number
(true) @boolean
(false) @boolean
(none) @constant.builtin
(string) @string
(escape) @string.escape
(comment) @comment

["+" "-" "*" "/" "//" "%" "**" "==" "!=" "<=" ">=" "<" ">" "=" "->" ".." "..." "|" "?"] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," "." ":"] @punctuation.delimiter

(skip) @keyword
; keywords: made by `python editors/build.py`
[
  "after" "as" "assistant" "at" "backup" "best" "corpus" "data" "decreases" "each" "elif"
  "else" "examples" "expand" "failed" "file" "first" "for" "foreach" "from" "function"
  "higher" "if" "import" "instruction" "json" "law" "least" "lines" "lower" "many" "match"
  "matching" "maximize" "mcp" "messages" "metric" "minimize" "of" "once" "operation" "param"
  "parse" "partial" "program" "prompt" "prompts" "python" "race" "reduce" "repeat" "return"
  "scheme" "score" "search" "simulate" "stop" "study" "subject" "system" "tag" "test" "to"
  "tools" "truth" "try" "turns" "type" "until" "user" "value" "vary" "when" "with" "within"
] @keyword
; keywords: end
["and" "in" "not" "or"] @keyword.operator
