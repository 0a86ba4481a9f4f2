"""Images and files: what prompts show of them, what is refused before anything is sent, what keys hold."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from support.answers import PICTURE
from support.orders import run_in_order

from gotlang.api import Options, compile
from gotlang.cache.base import StoredSample
from gotlang.cache.memory import MemoryCache
from gotlang.data import inputs, load
from gotlang.errors import UsageError
from gotlang.models.base import Completion, Message, Request, Usage, token_bound
from gotlang.models.images import IMAGE_TOKENS, image_tokens
from gotlang.models.media import MOST_BYTES, media_of
from gotlang.models.simulated import SimulatedModel
from gotlang.report.graphs import details
from gotlang.types import IMAGE, STR, ListType

SHOWS = '''
type Page = {scan: image, note: str}

prompt look(page: Page, others: list[image], about: file?) -> str:
    """
    {{ page.note }} {{ page.scan }}
    {% for picture in others %}and {{ picture }}{% endfor %}
    {% if about %}about {{ about }}{% endif %}
    """

scheme describe(page: Page, others: list[image], about: file?) -> str:
    Generate() look(page, others, about)
'''


def seen(text: str, given: dict[str, Any]) -> tuple[list[Message], Any]:
    heard: list[Message] = []

    def look(rng: Random, messages: tuple[Message, ...], **arguments: Any) -> str:
        heard.extend(messages)
        return repr(arguments)

    result = run_in_order(text, given, SimulatedModel({"look": look}))
    return heard, result


def pictures(folder: Path) -> tuple[str, str]:
    for name, more in (("a.png", b""), ("b.png", b"other")):
        (folder / name).write_bytes(PICTURE.read_bytes() + more)
    return str(folder / "a.png"), str(folder / "b.png")


def test_each_stands_where_the_text_shows_it(tmp_path: Path) -> None:
    one, other = pictures(tmp_path)
    (tmp_path / "n.md").write_text("hello")
    page = {"scan": one, "note": "\ufffc0\ufffc is no picture"}
    ((message,), result) = seen(
        SHOWS, {"page": page, "others": [other, one], "about": str(tmp_path / "n.md")}
    )
    assert message.content == "\ufffd0\ufffd is no picture \ufffc\nand \ufffcand \ufffcabout \ufffc"
    about = f"about [file: {tmp_path / 'n.md'}]"
    assert message.shown.endswith(f" [image: {one}]\nand [image: {other}]and [image: {one}]{about}")
    assert [media.path for media in message.media] == [one, other, one, str(tmp_path / "n.md")]
    assert [media.mime for media in message.media] == ["image/png", "image/png", "image/png", "text/markdown"]
    assert message.media[0] == message.media[2] != message.media[1]
    assert repr(one) in result.value  # the simulator's argument is the path
    assert result.outcome.ledger.spent.input_tokens > 3 * 765


def test_the_key_is_that_of_the_content(tmp_path: Path) -> None:
    one, other = pictures(tmp_path)
    moved = tmp_path / "moved.png"
    moved.write_bytes(Path(one).read_bytes())
    keys = [
        Request("m", (Message("user", "\ufffc", (media_of("image", str(path)),)),)).key()
        for path in (one, moved, other)
    ]
    assert keys[0] == keys[1] != keys[2]
    moved.write_bytes(_jpeg(b"changed"))
    assert media_of("image", str(moved)).mime == "image/jpeg"


@pytest.mark.parametrize(
    ("kind", "content", "words"),
    [
        ("image", None, "there is no file"),
        ("image", b"GIF8", "is not a supported image"),
        ("image", b"RIFF....WAVE", "is not a supported image"),
        ("file", b"\x00\x01", "is not a supported file"),
        ("file", b"\xff\xfe", "is not a supported file"),
        ("image", b"\x89PNG\r\n\x1a\n" + bytes(MOST_BYTES), "at most 20,000,000 are sent"),
    ],
)
def test_what_cannot_be_shown_is_told_before_anything_is_sent(
    kind: str, content: bytes | None, words: str, tmp_path: Path
) -> None:
    one, _ = pictures(tmp_path)
    path = tmp_path / "x"
    if content is not None:
        path.write_bytes(content)
    given = {"page": {"scan": one, "note": ""}, "others": [], "about": None}
    given |= {"others": [str(path)]} if kind == "image" else {"about": str(path)}
    asked: list[Any] = []
    model = SimulatedModel({"look": lambda rng, **_: asked.append(1) or ""})
    with pytest.raises(UsageError, match=words) as caught:
        run_in_order(SHOWS, given, model)
    assert asked == [] and ("`others`" if kind == "image" else "`about`") in caught.value.message


def test_an_empty_path_is_told_as_that() -> None:
    with pytest.raises(UsageError, match=r"^input `o`: it is empty$") as caught:
        compile(
            'prompt p(o: image) -> str:\n    "{{ o }}"\nscheme s(o: image) -> str:\n    Generate() p(o)\n'
        ).run(o="", options=Options(model=SimulatedModel({})))
    assert caught.value.help == "write the path of an image"


def _png(pixels: bytes) -> bytes:
    chunks = [(b"IHDR", bytes(13)), (b"IDAT", pixels), (b"IEND", b"")]
    told = (len(content).to_bytes(4) + name + content + bytes(4) for name, content in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(told)


def _jpeg(pixels: bytes) -> bytes:
    thumbnail = b"\xff\xe1\x00\x08\xff\xd8\xff\xd9ab"  # it has an end of its own
    return b"\xff\xd8" + thumbnail + b"\xff\xff\xda\x00\x02" + pixels + b"\xff\xd9"


def _gif(pixels: bytes) -> bytes:
    head = b"GIF89a" + bytes(4) + b"\x80\x00\x00" + bytes(6) + b"\x21\xf9\x02ab\x00"
    image = b"\x2c" + bytes(8) + b"\x81" + bytes(12) + b"\x08" + bytes([len(pixels)]) + pixels + b"\x00"
    return head + image + b"\x3b"


def _webp(pixels: bytes) -> bytes:
    return b"RIFF" + (4 + len(pixels)).to_bytes(4, "little") + b"WEBP" + pixels


@pytest.mark.parametrize("image", [_png, _jpeg, _gif, _webp])
def test_an_image_that_is_cut_off_is_refused(image: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path, content = tmp_path / "x", image(b"pixels;\x00;")
    for whole in (content, content + b"more", PICTURE.read_bytes()):
        path.write_bytes(whole)
        assert media_of("image", str(path)).mime.startswith("image/")
    for size in range(16, len(content)):
        path.write_bytes(content[:size])
        with pytest.raises(UsageError, match=r"x is cut off: its end is missing"):
            media_of("image", str(path))


def test_what_has_no_end_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path / "pipe"), "/dev/zero", str(tmp_path)):
        with pytest.raises(UsageError, match="it is not a regular file"):
            media_of("image", path)


def test_a_data_file_names_files_beside_it_and_no_others(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    pictures(folder)
    pictures(tmp_path)
    (folder / "out.png").symlink_to(tmp_path / "a.png")
    table = folder / "rows.csv"
    table.write_text(
        'q,scans\nx,"[""a.png"", ""b.png""]"\ny,[../a.png]\nz,[out.png]\nv,[/etc/passwd]\nw,[no.png]\n'
    )
    rows = load(table)
    types = {"q": STR, "scans": ListType(IMAGE)}
    found = inputs(rows, 0, {}, types)["scans"]
    assert found == [str(folder / "a.png"), str(folder / "b.png")]
    for row in (1, 2, 3):
        with pytest.raises(UsageError, match=f"row {row}, column `scans`: .*outside the data file's folder"):
            inputs(rows, row, {}, types)
    with pytest.raises(UsageError, match="row 4, column `scans`: there is no file"):
        inputs(rows, 4, {}, types)


def test_a_budget_reserves_the_most_that_an_image_may_be(tmp_path: Path) -> None:
    one, _ = pictures(tmp_path)
    request = Request("m", (Message("user", "\ufffc", (media_of("image", one),)),))
    plain = Request("m", (Message("user", "\ufffc"),))
    assert token_bound(request) == token_bound(plain) + IMAGE_TOKENS
    assert token_bound(replace(request, model="gpt-4o-2024-08-06")) == token_bound(plain) + 1445
    (tmp_path / "n.txt").write_text("x" * 1000)
    text = media_of("file", str(tmp_path / "n.txt"))
    assert 1000 < text.token_bound("m") < 1100


@pytest.mark.parametrize(
    ("model", "most"),
    [
        ("gpt-4o", 85 + 8 * 170),
        ("gpt-4o-mini", 48_169),
        ("gpt-4.1-mini-2025-04-14", 2489),
        ("o3", 1275),
        ("claude-3-5-sonnet-20241022", 1680),
        ("claude-sonnet-4-5-20250929", 1680),
        ("claude-opus-4-7", 5023),
        ("gemini-3-pro-preview", 1176),
        *(
            (name, IMAGE_TOKENS)
            for name in ("m", "gpt-6", "gpt-5.2", "claude-opus-5", "gemini-2.5-pro", "my-gpt-4o")
        ),
    ],
)
def test_the_most_tokens_of_an_image_are_those_of_its_provider(model: str, most: int) -> None:
    assert image_tokens(model) == most


def test_a_page_shows_the_pictures_that_the_inputs_still_name(tmp_path: Path) -> None:
    one, other = pictures(tmp_path)
    cache = MemoryCache()
    request = Request("m", (Message("user", "\ufffc", (media_of("image", one),)),))
    cache.put(request.key(), request, {0: StoredSample(Completion("red"), Usage(1, 1), 0.1)})
    asked = {"key": request.key(), "samples": [0], "sources": ["model"]}
    line = {"operation": 0, "path": "s/%1", "hops": 1, "thoughts": [], "asked": [asked]}
    shown = details([line], cache, (), {"page": [one, "no path", 3], "other": other})["pictures"]
    digest = media_of("image", one).digest
    assert list(shown) == [digest] and shown[digest].startswith("data:image/png;base64,iVBOR")
    Path(one).write_bytes(Path(other).read_bytes())
    assert details([line], cache, (), {"page": one})["pictures"] == {}
