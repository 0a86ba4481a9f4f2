"""The words of the language by their use. Made by `python editors/build.py`."""

KEYWORDS = (
    "after", "and", "as", "assistant", "at", "backup", "best", "corpus", "data", "decreases", "each",
    "elif", "else", "examples", "expand", "failed", "false", "file", "first", "for", "foreach", "from",
    "function", "higher", "if", "import", "in", "instruction", "json", "law", "least", "lines", "lower",
    "many", "match", "matching", "maximize", "mcp", "messages", "metric", "minimize", "none", "not",
    "of", "once", "operation", "or", "param", "parse", "partial", "program", "prompt", "prompts",
    "python", "race", "reduce", "repeat", "return", "scheme", "score", "search", "simulate", "skip",
    "stop", "study", "subject", "system", "tag", "test", "to", "tools", "true", "truth", "try", "turns",
    "type", "until", "user", "value", "vary", "when", "with", "within",
)  # fmt: skip
"""Every word that is a keyword somewhere."""
RESERVED = (
    "after", "and", "as", "elif", "else", "for", "foreach", "from", "if", "in", "match", "not", "or",
    "reduce", "repeat", "return", "skip", "try", "until", "when", "with",
)  # fmt: skip
"""Keywords wherever a name may be read, but not as a field or an argument."""
CONSTANTS = (
    "true", "false", "none",
)  # fmt: skip
"""Values that are words."""
DECLARATIONS = (
    "from", "function", "import", "law", "metric", "operation", "param", "partial", "prompt", "scheme",
    "score", "simulate", "study", "test", "type",
)  # fmt: skip
"""The first word of a declaration."""
SEARCH_PARTS = (
    "backup", "expand", "simulate", "value",
)  # fmt: skip
"""The first word of a part of a `search`."""
PROMPT_PARTS = (
    "assistant", "examples", "instruction", "messages", "parse", "stop", "system", "tools", "user",
)  # fmt: skip
"""The first word of a part of a prompt."""
PARSERS = (
    "json", "lines", "matching", "tag",
)  # fmt: skip
"""Words after `parse`."""
CLAUSES = (
    "data", "maximize", "minimize", "program", "prompts", "scheme", "subject", "vary",
)  # fmt: skip
"""The first word of a clause of a study."""
IMPORTED = (
    "corpus", "mcp", "python",
)  # fmt: skip
"""Words after `import`."""
DIRECTIONS = (
    "lower", "higher",
)  # fmt: skip
"""Words after the arrow of a score or a metric."""
OBJECTIVES = (
    "minimize", "maximize",
)  # fmt: skip
"""Words before the goal of a study."""
BLOCKS = (
    "search(?=[ \t]+[a-z_]\\w*[ \t]+from\\b)",
    "first(?=[ \t]+until\\b|[ \t]*:[ \t]*(?:#[^\n]*)?\n|,[ \t]*at[ \t]+once\\b)",
    "race(?=[ \t]+until\\b|[ \t]*:[ \t]*(?:#[^\n]*)?\n)",
)  # fmt: skip
"""Patterns of the blocks whose word is a name elsewhere."""
OPERATIONS = (
    "Generate", "Improve", "Aggregate", "Ask", "Score", "Validate", "KeepValid", "ValidateAndImprove",
    "KeepBestN", "Select", "Vote", "Map", "Pool", "Retrieve", "Call", "GroundTruth", "Repeat",
)  # fmt: skip
"""The operations and blocks that are written as calls."""
BUILTINS = (
    "abs", "add_counts", "all", "anneal", "any", "bm25", "ceil", "chunks", "concat", "confidence",
    "cos", "cost", "count", "count_difference", "counts", "descents", "difference", "enumerate",
    "escape", "exact_match", "exp", "f1", "fill", "flatten", "float", "floor", "get", "hmean", "int",
    "intersection", "is_json", "join", "keys", "len", "lines", "log", "lower", "matches", "max", "mean",
    "median", "min", "miscounts", "pairs", "range", "references", "replace", "reversed", "round",
    "score", "set", "similarity", "sorted", "split", "sqrt", "starts_with", "str", "strip", "sum",
    "tokens", "unique", "upper", "valid", "values", "zip",
)  # fmt: skip
"""Functions of the language."""
