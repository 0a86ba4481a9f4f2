"""msgspec and pydantic for records: import time in fresh interpreters, and speed on a cached sample.

    pip install pydantic && python benchmarks/records.py

Import times are medians, in an empty interpreter and after the standard modules that `gotc run` imports.
Both libraries have the same fields with the same checks; `codec` is the cache's own, which also builds its
classes.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import timeit
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated, Any, Literal

import msgspec
from measurement import options, report
from pydantic import Field, TypeAdapter

from gotlang.cache.base import StoredSample
from gotlang.cache.codec import decode_sample, encode_sample
from gotlang.models.base import Completion, Usage
from gotlang.records import Count, Seconds

RUN = "import asyncio, datetime, decimal, inspect, json, pathlib, sqlite3, typing, uuid"
STARTS = 15
CALLS = 20_000

Logprob = float | Literal["inf", "-inf", "nan"]
PCount = Annotated[int, Field(ge=0, le=2**63 - 1, strict=True)]
PSeconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class TokensM(msgspec.Struct):
    input_tokens: Count
    output_tokens: Count
    cached_input_tokens: Count


class SampleM(msgspec.Struct):
    text: str
    finish_reason: str
    logprob: Logprob | None
    tokens: list[tuple[str, Logprob]]
    output_tokens: Count
    usage: TokensM
    latency_s: Seconds
    batch: Count
    position: Count
    created: Seconds


@dataclass(frozen=True, slots=True)
class TokensP:
    input_tokens: PCount
    output_tokens: PCount
    cached_input_tokens: PCount


@dataclass(frozen=True, slots=True)
class SampleP:
    text: str
    finish_reason: str
    logprob: Logprob | None
    tokens: list[tuple[str, Logprob]]
    output_tokens: PCount
    usage: TokensP
    latency_s: PSeconds
    batch: PCount
    position: PCount
    created: PSeconds


def import_ms(before: str, what: str) -> float:
    """Import time in milliseconds after other imports: the median over fresh interpreters."""
    code = f"import time\n{before}\nt = time.perf_counter()\n{what}\nprint(time.perf_counter() - t)"
    command = [sys.executable, "-c", code]
    outputs = [subprocess.run(command, capture_output=True, check=True).stdout for _ in range(STARTS)]
    return statistics.median(map(float, outputs)) * 1000


def microseconds(call: Callable[[], object]) -> float:
    return min(timeit.repeat(call, number=CALLS, repeat=5)) / CALLS * 1e6


COLUMNS = {
    "library": "{}",
    "import": "{:.0f} ms",
    "import in a run": "{:.0f} ms",
    "encode": "{:.2f} µs",
    "decode": "{:.2f} µs",
}


def rows() -> Iterator[tuple[Any, ...]]:
    completion = Completion("[0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8, 8, 9, 9]", output_tokens=48)
    stored = StoredSample(completion, Usage(120, 48), 1.5)
    text = encode_sample(stored).encode()
    decoder, adapter = msgspec.json.Decoder(SampleM), TypeAdapter(SampleP)
    record, data = decoder.decode(text), adapter.validate_json(text)
    yield (
        f"msgspec {version('msgspec')}",
        *(import_ms(before, "import msgspec") for before in ("", RUN)),
        microseconds(lambda: msgspec.json.encode(record)),
        microseconds(lambda: decoder.decode(text)),
    )
    yield (
        f"pydantic {version('pydantic')}",
        *(import_ms(before, "from pydantic import TypeAdapter") for before in ("", RUN)),
        microseconds(lambda: adapter.dump_json(data)),
        microseconds(lambda: adapter.validate_json(text)),
    )
    codec = microseconds(lambda: encode_sample(stored)), microseconds(lambda: decode_sample(text))
    yield "codec", None, None, *codec


if __name__ == "__main__":
    report(options(__doc__).parse_args(), COLUMNS, rows())
