(module) @local.scope
(prompt) @local.scope
(score) @local.scope
(metric) @local.scope
(scheme) @local.scope
(define_function) @local.scope
(comprehension) @local.scope

(param name: (name) @local.definition)
(prompt name: (name) @local.definition)
(score name: (name) @local.definition)
(metric name: (name) @local.definition)
(scheme name: (name) @local.definition)
(partial name: (name) @local.definition)
(define_function name: (name) @local.definition)
(type_alias name: (_) @local.definition)
(typed_name name: (name) @local.definition)
(input name: (name) @local.definition)
(bind_line name: (name) @local.definition)
(bind_block name: (name) @local.definition)
(foreach (name) @local.definition)
(foreach (names (name) @local.definition))
(reduce (name) @local.definition)
(comprehension (names (name) @local.definition))
(drawn (names (name) @local.definition))

(reference (name) @local.reference)
(call function: (name) @local.reference)
