; What each node is. Where two patterns fit, the later one counts.

(name) @variable
(capitalized) @type

(reference (name) @variable)
(typed_name name: (name) @variable.parameter)
(input name: (name) @variable.parameter)
(argument name: (name) @variable.parameter)
(entry key: (name) @property)
(field name: (name) @property)
(setting name: (name) @property)
(named_type (name) @type)
(type_alias name: (name) @type)
(amount (name) @property)

(operation (capitalized) @function.builtin)
(again (capitalized) @function.builtin)
(case (capitalized) @constructor)
(case_pattern (capitalized) @constructor)
(define_operation name: (capitalized) @function)

(call function: (name) @function)
(member_call function: (name) @function)
(prompt name: (name) @function)
(prompt_file name: (name) @function)
(score name: (name) @function)
(metric name: (name) @function)
(scheme name: (name) @function)
(partial name: (name) @function)
(define_function name: (name) @function)
(python_function name: (name) @function)
(study name: (name) @function)
(param name: (name) @constant)
(label) @label

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
  "after" "and" "as" "assistant" "at" "backup" "best" "corpus" "data" "decreases" "each"
  "elif" "else" "examples" "expand" "failed" "file" "first" "for" "foreach" "from"
  "function" "higher" "if" "import" "in" "instruction" "json" "law" "least" "lines" "lower"
  "many" "match" "matching" "maximize" "mcp" "messages" "metric" "minimize" "not" "of"
  "once" "operation" "or" "param" "parse" "partial" "program" "prompt" "prompts" "python"
  "race" "reduce" "repeat" "return" "scheme" "score" "search" "simulate" "stop" "study"
  "subject" "system" "tag" "test" "to" "tools" "truth" "try" "turns" "type" "until" "user"
  "value" "vary" "when" "with" "within"
] @keyword
; keywords: end
["and" "in" "not" "or"] @keyword.operator
