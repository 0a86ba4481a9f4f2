(module) @local.scope
(prompt) @local.scope
(score) @local.scope
(metric) @local.scope
(scheme) @local.scope
(define_function) @local.scope
(comprehension) @local.scope

(param name: (name) @local.definition.var)
(prompt name: (name) @local.definition.function)
(score name: (name) @local.definition.function)
(metric name: (name) @local.definition.function)
(scheme name: (name) @local.definition.function)
(partial name: (name) @local.definition.function)
(define_function name: (name) @local.definition.function)
(type_alias name: (_) @local.definition.type)
(typed_name name: (name) @local.definition.parameter)
(input name: (name) @local.definition.parameter)
(bind_line name: (name) @local.definition.var)
(bind_block name: (name) @local.definition.var)
(foreach (name) @local.definition.var)
(foreach (names (name) @local.definition.var))
(reduce (name) @local.definition.var)
(comprehension (names (name) @local.definition.var))
(drawn (names (name) @local.definition.var))

(reference (name) @local.reference)
(call function: (name) @local.reference)
