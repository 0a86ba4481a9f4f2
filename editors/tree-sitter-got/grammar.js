/**
 * The grammar of .got for tree-sitter, in the order of grammars/got.lark and with its rules' names.
 * Keywords are accepted where the grammar has them and are names elsewhere, as in the parser of gotc.
 */

const separated = (rule) => seq(rule, repeat(seq(",", rule)));
const trailing = (rule) => optional(seq(separated(rule), optional(",")));

const PREC = { or: 1, and: 2, not: 3, compare: 4, sum: 5, product: 6, sign: 7, power: 8, value: 9 };

module.exports = grammar({
  name: "got",

  word: ($) => $.name,
  externals: ($) => [$._newline, $._indent, $._dedent, $._error],
  extras: ($) => [/[ \t\r\n]/, $.comment, /\\[ \t]*\n/],
  inline: ($) => [$._name, $._label_start, $._type_name, $._bound],

  rules: {
    module: ($) => repeat($._declaration),

    _declaration: ($) =>
      choice(
        seq(
          choice(
            $.import_got, $.import_names, $.import_python, $.import_mcp, $.import_corpus, $.simulate,
            $.type_alias, $.param, $.test, $.law, $.define_function, $.prompt_file, $.partial,
          ),
          $._newline,
        ),
        $.prompt, $.score, $.metric, $.scheme, $.study, $.define_operation,
      ),

    // ------------------------------------------------------------ declarations

    import_got: ($) => seq("import", $._imported_file, optional(seq("as", field("name", $.name)))),
    import_names: ($) => seq("from", $._imported_file, "import", separated($.imported_name)),
    _imported_file: ($) => choice($.string, $.module_name),
    module_name: ($) => seq($.name, repeat1(seq(".", $.name))),
    imported_name: ($) => seq($._type_name, optional(seq("as", $._type_name))),
    import_python: ($) => seq("import", "python", $.string, ":", separated($.python_function)),
    python_function: ($) => seq(field("name", $.name), optional(seq("->", $._type))),
    import_mcp: ($) => seq("import", "mcp", $.string, ":", separated($.python_function)),
    import_corpus: ($) => seq("import", "corpus", $.string, ":", field("name", $.name)),
    simulate: ($) => seq("simulate", "with", $.string),
    type_alias: ($) => seq("type", field("name", choice($.name, $.capitalized)), "=", field("type", $._type)),
    param: ($) =>
      seq(
        "param", field("name", $.name), optional(seq(":", field("type", $._type))), "=",
        field("default", $._constant),
        optional(seq(optional("each"), "in", field("domain", choice($.range, $.choices)))),
        optional(seq("when", $._expression)),
      ),
    range: ($) => seq($._limit, "..", $._limit),
    _limit: ($) => choice($._number, alias($.signed, $.unary)),
    choices: ($) => seq("[", separated($._constant), optional(","), "]"),

    _prompt_head: ($) =>
      seq("prompt", field("name", $.name), $.parameters, "->", optional("many"), field("returns", $._type)),
    prompt: ($) => seq($._prompt_head, optional(seq("from", $.string)), ":", $.prompt_body),
    prompt_file: ($) => seq($._prompt_head, "from", $.string),
    prompt_body: ($) => seq($._indent, repeat1($._prompt_part), $._dedent),
    _prompt_part: ($) =>
      choice(
        seq(
          choice(
            $.setting, $.stop_setting, $.tools, $.system, $.instruction, $.user, $.assistant, $.history, $.parse,
          ),
          $._newline,
        ),
        $.examples,
      ),
    stop_setting: ($) => seq("stop", optional("when"), $._expression),
    tools: ($) => seq("tools", $.names),
    system: ($) => seq("system", $.string),
    instruction: ($) => seq("instruction", $.string),
    user: ($) => seq(optional("user"), $.string),
    assistant: ($) => seq("assistant", $.string),
    history: ($) => seq("messages", $.name),
    examples: ($) =>
      seq("examples", optional(seq("as", "turns")), ":", $._indent, repeat1(seq($.example, $._newline)), $._dedent),
    example: ($) => seq(separated($.argument), "->", $._expression),
    parse: ($) =>
      seq(
        "parse",
        choice(
          seq("tag", "(", $.string, ")"),
          "json",
          seq("lines", optional(seq("matching", $.string))),
          seq("after", $.string),
          seq("with", $.name),
        ),
      ),

    score: ($) =>
      seq(
        "score", field("name", $.name), $.parameters, "->", $._direction,
        optional(seq(",", "best", $._constant)), ":", $.body,
      ),
    metric: ($) =>
      seq(
        "metric", field("name", $.name), $.parameters, "->", $._direction,
        optional(seq(",", "best", $._constant)), optional(seq(",", "failed", $._constant)), ":", $.body,
      ),
    _direction: (_) => choice("lower", "higher"),
    scheme: ($) =>
      seq(
        "scheme", field("name", $.name), optional($.variables), $.inputs,
        "->", optional("many"), field("returns", $._type),
        optional(seq(",", "truth", $._type)),
        optional(seq("decreases", $._expression)),
        optional(seq("within", $.limits)),
        ":", $.body,
      ),
    parameters: ($) => seq("(", trailing($.typed_name), ")"),

    limits: ($) => prec.right(separated($.amount)),
    amount: ($) => seq($._number, $.name),
    test: ($) => seq("test", $.string, ":", $._expression, optional(seq(",", "within", $.limits))),
    law: ($) =>
      seq(
        "law", $.string, "for", separated($.drawn), ":", $._expression,
        optional(seq(",", "at", "least", $._number, "of", $.integer)),
        optional(seq(",", "within", $.limits)),
      ),
    drawn: ($) => seq($.names, "in", $._expression),

    define_operation: ($) =>
      seq("operation", field("name", $.capitalized), $.inputs, optional($.operand_inputs), ":", $.body),
    operand_inputs: ($) => separated($.input),
    partial: ($) => seq("partial", field("name", $.name), $.parameters, ":", $.string),
    define_function: ($) =>
      seq(
        "function", field("name", $.name), optional($.variables), $.inputs, "->", field("returns", $._type),
        "=", $._expression,
      ),
    variables: ($) => seq("[", separated($._type_name), "]"),
    inputs: ($) => seq("(", trailing($.input), ")"),
    input: ($) =>
      seq(field("name", $.name), ":", field("type", choice($._type, $.part_type)), optional(seq("=", $._expression))),
    part_type: ($) => prec.right(seq($.name, "(", trailing($._type), ")", optional(seq("->", $._type)))),

    study: ($) => seq("study", field("name", $.name), ":", $.study_body),
    study_body: ($) => seq($._indent, repeat1(seq($._clause, $._newline)), $._dedent),
    _clause: ($) =>
      choice(
        $.study_program, $.study_scheme, $.study_data, $.study_objective, $.study_constraint, $.study_vary,
        $.study_prompts, $.study_setting,
      ),
    study_program: ($) => seq("program", $.string, optional(seq("scheme", $.name))),
    study_scheme: ($) => seq("scheme", $.name),
    study_data: ($) => seq("data", $.string, optional($.columns), repeat(seq(",", $.setting))),
    columns: ($) => seq("(", trailing($.column_pair), ")"),
    column_pair: ($) => seq($.name, "=", $.column),
    column: ($) => choice($.name, $.capitalized, $.string),
    study_objective: ($) => separated($.objective),
    objective: ($) => seq(choice("minimize", "maximize"), $._expression),
    study_constraint: ($) => seq("subject", "to", separated($._expression)),
    study_vary: ($) => seq("vary", separated($.vary_item)),
    vary_item: ($) =>
      seq($.name, optional(seq(".", $.name)), optional(seq("in", choice($.range, $.varied)))),
    varied: ($) => seq("[", separated(choice($._constant, $.reference, $.text_file)), optional(","), "]"),
    text_file: ($) => seq("file", $.string),
    study_prompts: ($) => seq("prompts", $.names, "with", $._expression),
    study_setting: ($) => separated($.setting),
    setting: ($) => seq(field("name", $.name), $._expression),

    // ------------------------------------------------------------ types

    _type: ($) => choice($._alternative, $.alternatives, $.optional_type),
    optional_type: ($) => seq(choice($.named_type, $.record_type, seq("(", $._type, ")")), "?"),
    alternatives: ($) => seq($._alternative, repeat1(seq("|", $._alternative))),
    _alternative: ($) => choice($.named_type, $.record_type, $.case_type, $.text_type),
    case_type: ($) => seq($._type_name, $.record_type),
    text_type: ($) => $.string,
    named_type: ($) => seq(choice($._type_name, $.member_name), optional(seq("[", separated($._type), "]"))),
    member_name: ($) => seq($.name, ".", $._type_name),
    record_type: ($) => seq("{", trailing($.typed_name), "}"),
    typed_name: ($) => seq(field("name", $.name), ":", field("type", $._type)),

    // ------------------------------------------------------------ pipelines

    body: ($) => seq($._indent, repeat1($._statement), $._dedent),
    _statement: ($) =>
      choice(
        seq(choice($.step, $.bind_line, $.evaluate, $.repeated_call, $.return, $.skip), $._newline),
        $.bind_block,
        $._block,
      ),
    bind_line: ($) => seq($._bound, "=", choice($.step, $._expression, $.repeated_call)),
    bind_block: ($) => seq($._bound, "=", choice($.body, $._block)),
    _bound: ($) => seq(field("name", $._name), optional(seq(":", field("type", $._type)))),
    _block: ($) =>
      choice(
        $.foreach, $.reduce, $.repeat, $.repeated, $.if, $.match, $.try, $.search, $.first, $.race, $.labelled,
      ),
    evaluate: ($) => $._expression,
    return: ($) => seq("return", $._expression),
    skip: (_) => "skip",

    step: ($) => seq($.operation, optional($.operands), optional($.again)),
    operation: ($) => choice(prec.right(seq($.capitalized, optional($.settings))), $._member_operation),
    _member_operation: ($) => prec(PREC.value, seq($._value, ".", $.capitalized, $.settings)),
    settings: ($) => seq("(", optional($._arguments), ")"),
    operands: ($) => separated($._expression),
    again: ($) => seq($.capitalized, $.settings),
    repeated: ($) => seq($.again, ":", $.body),
    repeated_call: ($) => seq($._expression, $.again),

    foreach: ($) =>
      seq(
        "foreach", repeat1($.name), optional(seq(",", $.names)), optional(seq("in", $._expression)),
        optional(seq("after", $._expression)), ":", $.body,
      ),
    reduce: ($) =>
      seq(
        "reduce", $.name, ",", $.name, optional(seq("in", $._expression)), optional(seq("as", $.name)), ":", $.body,
      ),
    repeat: ($) =>
      seq("repeat", $._expression, optional(seq("as", $.name)), optional(seq("until", $._expression)), ":", $.body),
    if: ($) => seq("if", $._branch, repeat($.elif), optional($.else)),
    elif: ($) => seq("elif", $._branch),
    else: ($) => seq("else", ":", $.body),
    _branch: ($) => seq(field("condition", $._expression), ":", $.body),
    match: ($) =>
      seq("match", $._expression, ":", $._indent, repeat1($.match_branch), optional($.else), $._dedent),
    match_branch: ($) =>
      seq($._pattern, repeat(seq("|", $._pattern)), optional(seq("as", $.name)), ":", $.body),
    _pattern: ($) => choice($.case_pattern, $.string, $.true, $.false, $.none),
    case_pattern: ($) => seq($.capitalized, optional(seq("{", separated($.name), optional(","), "}"))),
    try: ($) => seq("try", ":", $.body, optional($.else)),
    search: ($) =>
      seq(
        "search", $.name, "from", $._expression, optional(seq("until", $._expression)), repeat(seq(",", $.setting)),
        ":", $._indent, repeat1($._search_part), $._dedent,
      ),
    _search_part: ($) => choice($.expand, $.simulated, $.valued, $.backup),
    expand: ($) => seq("expand", ":", $._inside),
    simulated: ($) => seq("simulate", ":", $._inside),
    valued: ($) => seq("value", ":", $._inside),
    backup: ($) => seq("backup", $.name, $._newline),
    _inside: ($) => choice($.body, seq(choice($.step, $.evaluate, $.repeated_call), $._newline)),
    first: ($) =>
      seq("first", optional(seq("until", $._expression)), optional(seq(",", "at", "once")), ":", $.body),
    race: ($) => seq("race", optional(seq("until", $._expression)), ":", $.body),
    labelled: ($) =>
      choice(
        seq(choice($.label, alias($.string, $.label)), optional($._from), ":", $.body),
        seq(alias($._one_word, $.label), $._from, ":", $.body),
      ),
    _one_word: ($) => $._label_start,
    _from: ($) => seq("from", $.sources, optional(seq("as", $.names))),
    label: ($) => seq($._label_start, choice(seq(repeat1($.name), optional($.integer)), $.integer)),
    sources: ($) => separated(choice($._expression, $.label_reference)),
    label_reference: ($) => seq($._name, choice(seq(repeat1($.name), optional($.integer)), $.integer)),

    // ------------------------------------------------------------ expressions

    _expression: ($) => choice($._test, $.conditional),
    conditional: ($) => seq($._test, "if", $._test, "else", $._expression),
    _test: ($) => choice($.binary, $.comparison, $.unary, $._value),
    binary: ($) =>
      choice(
        prec.left(PREC.or, seq($._test, "or", $._test)),
        prec.left(PREC.and, seq($._test, "and", $._test)),
        prec.left(PREC.sum, seq($._test, choice("+", "-"), $._test)),
        prec.left(PREC.product, seq($._test, choice("*", "/", "//", "%"), $._test)),
        prec.right(PREC.power, seq($._test, "**", $._test)),
      ),
    comparison: ($) => prec.left(PREC.compare, seq($._test, repeat1(prec.left(PREC.compare, seq($._comparator, $._test))))),
    _comparator: (_) => choice("==", "!=", "<=", ">=", "<", ">", "in", seq("not", "in")),
    unary: ($) => choice(prec(PREC.not, seq("not", $._test)), prec(PREC.sign, seq(choice("+", "-"), $._test))),
    signed: ($) => seq("-", $._number),
    _value: ($) =>
      choice(
        $.reference, $.call, $.member_call, $.case, $._number, $.string, $.true, $.false, $.none, $.list,
        $.comprehension, $.record, $.group, $.index, $.slice, $.field,
      ),
    index: ($) => prec(PREC.value, seq($._value, "[", $._expression, "]")),
    slice: ($) => prec(PREC.value, seq($._value, "[", optional($._expression), ":", optional($._expression), "]")),
    field: ($) => prec(PREC.value, seq($._value, ".", field("name", $.name))),
    reference: ($) => $._name,
    call: ($) => seq(field("function", $._name), $._call_arguments),
    member_call: ($) => prec(PREC.value, seq($._value, ".", field("function", $.name), $._call_arguments)),
    _call_arguments: ($) => seq("(", optional($._arguments), ")"),
    case: ($) => choice(prec(-1, $.capitalized), seq($.capitalized, $.record)),
    group: ($) => seq("(", $._expression, ")"),
    list: ($) => seq("[", trailing($._expression), "]"),
    comprehension: ($) =>
      seq("[", $._expression, "for", $.names, "in", $._test, optional(seq("if", $._test)), "]"),
    record: ($) => seq("{", trailing(choice($.entry, $.spread)), "}"),
    entry: ($) => seq(field("key", choice($.name, $.string)), ":", $._expression),
    spread: ($) => seq("...", $._expression),
    _arguments: ($) => seq(separated(choice($.argument, $._expression)), optional(",")),
    argument: ($) => seq(field("name", $._name), "=", $._expression),

    _constant: ($) =>
      choice($._number, $.string, $.true, $.false, alias($.signed, $.unary), alias($.constants, $.list)),
    constants: ($) => seq("[", trailing($._constant), "]"),

    names: ($) => separated($.name),
    _type_name: ($) => choice($.name, $.capitalized),

    // ------------------------------------------------------------ tokens

    // Words that open a block only before certain others.
    _name: ($) => choice($.name, alias(choice("search", "first", "race"), $.name)),
    _label_start: ($) => choice($.name, alias(choice("first", "race"), $.name)),
    true: (_) => "true",
    false: (_) => "false",
    none: (_) => "none",
    name: (_) => /[a-z_][A-Za-z0-9_]*/,
    capitalized: (_) => /[A-Z][A-Za-z0-9_]*/,
    _number: ($) => choice($.integer, $.float),
    integer: (_) => /[0-9]+/,
    float: (_) => /[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+/,
    string: ($) =>
      choice(
        seq('"', repeat(choice(alias($._short, $.text), $.escape)), token.immediate('"')),
        seq('"""', repeat(choice(alias($._long, $.text), $.escape)), token.immediate('"""')),
      ),
    _short: (_) => token.immediate(prec(1, /([^"\\\n]|\\[^ntr"\\u\n])+/)),
    _long: ($) => prec.right(repeat1(choice($._long_part, $._quotes))),
    _long_part: (_) => token.immediate(prec(1, /([^"\\]|\\[^ntr"\\u\n])+/)),
    _quotes: (_) => token.immediate(/""?/),
    escape: (_) => token.immediate(prec(1, /\\([ntr"\\\n]|u[0-9a-fA-F]{4}|u)/)),
    comment: (_) => token(/#[^\n]*/),
  },
});
