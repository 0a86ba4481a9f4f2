"""What a prompt with `structured true` asks of an endpoint: answers of its type, by JSON Schema.

An endpoint that takes it writes nothing else. One that does not is asked without it; the answer is read as
any other then.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from gotlang.types import AnyType, DictType, ListType, LiteralType, RecordType, Simple, Type

_SIMPLE = {"int": "integer", "float": "number", "str": "string", "bool": "boolean"}


@lru_cache(maxsize=256)
def response_format(type_: Type) -> str:
    """The request's `response_format` for answers of a type, as JSON text.

    Strict where every object in it has a fixed set of fields, which is what providers want of a strict one.
    """
    closed: list[bool] = []
    schema = _schema(type_, closed)
    described = {"name": "answer", "strict": all(closed), "schema": schema}
    return json.dumps({"type": "json_schema", "json_schema": described}, ensure_ascii=False)


def _schema(type_: Type, closed: list[bool]) -> dict[str, Any]:
    match type_:
        case RecordType():
            fields = {name: _schema(field, closed) for name, field in type_.fields}
            return {
                "type": "object",
                "properties": fields,
                "required": list(fields),
                "additionalProperties": False,
            }
        case DictType(value):
            closed.append(False)
            return {"type": "object", "additionalProperties": _schema(value, closed)}
        case ListType(element):
            return {"type": "array", "items": _schema(element, closed)}
        case LiteralType(values):
            return {"type": "string", "enum": list(values)}
        case Simple(name) if name in _SIMPLE:
            return {"type": _SIMPLE[name]}
        case Simple() | AnyType():
            closed.append(False)
            return {}
