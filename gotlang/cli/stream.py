"""Completions on the terminal while they come: `gotc run --stream`."""

from __future__ import annotations

from typing import TextIO, final

from gotlang.runtime.sampler.events import Asked, Event, Streamed

_Name = tuple[str, int]


@final
class StreamPrinter:
    """An observer that prints completions as they grow: the one that began first, until it ends, then the
    next. One that starts anew after a failure is printed anew."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._texts: dict[_Name, str] = {}
        self._prompts: dict[_Name, str] = {}
        self._ended: set[_Name] = set()
        self._printed: str | None = None

    def __call__(self, event: Event) -> None:
        """Take an event."""
        match event:
            case Streamed(key=key, number=number):
                self._texts[key, number] = event.text
                self._prompts[key, number] = event.prompt
            case Asked(key=key, numbers=numbers):
                self._ended |= {(key, number) for number in numbers}
            case _:
                return
        while self._texts:
            name = next(iter(self._texts))
            self._print(name, self._texts[name])
            if name not in self._ended:
                break
            del self._texts[name]
            self._out.write("\n")
            self._printed = None
        self._out.flush()

    def _print(self, name: _Name, text: str) -> None:
        if self._printed is None:
            self._out.write(f"{self._prompts[name]}: ")
            self._printed = ""
        elif not text.startswith(self._printed):
            self._out.write(f"\n{self._prompts[name]}, again: ")
            self._printed = ""
        more, self._printed = text[len(self._printed) :], text
        self._out.write("".join(c if c.isprintable() or c in "\n\t" else "?" for c in more))
