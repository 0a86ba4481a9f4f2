"""The most input tokens that an image costs, by the rules that providers publish for their models.

- OpenAI, tiles: an image is fitted into 2048 x 2048 pixels, then its shorter side into 768, so it has at most
  8 tiles of 512 x 512, each with its price, and a base price.
- OpenAI, patches: at most 1,536 patches of 32 x 32 pixels, times the model's factor.
- Anthropic: an image is scaled down to about 1,600 tokens, by models from 4.7 on to 4,784.
- Gemini 3: 1,120 tokens at the default resolution; earlier models have no limit on tiles.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

IMAGE_TOKENS: Final = 50_000
"""Where no rule is known: more than the largest known one, that of gpt-4o-mini (48,169)."""


def _tiles(base: int, tile: int) -> int:
    return base + 8 * tile


def _patches(factor: float) -> int:
    return int(1536 * factor) + 1


_ABOUT = 1.05
"""Where a provider says `about`."""
_MOST: Final = {
    r"gpt-4o-mini": _tiles(2833, 5667),
    r"gpt-4o|chatgpt-4o|gpt-4-turbo|gpt-4\.5-preview": _tiles(85, 170),
    r"o1|o1-pro|o3|o3-pro": _tiles(75, 150),
    r"gpt-5|gpt-4\.1": _patches(1),
    r"gpt-5-mini|gpt-4\.1-mini": _patches(1.62),
    r"gpt-5-nano|gpt-4\.1-nano": _patches(2.46),
    r"o4-mini": _patches(1.72),
    r"claude-3(-[57])?-(opus|sonnet|haiku)|claude-(opus|sonnet|haiku)-4(-[0-6])?": int(1600 * _ABOUT),
    r"claude-(opus|sonnet|haiku)-4-[78]": int(4784 * _ABOUT),
    r"gemini-3(\.\d)?-(pro|flash)": int(1120 * _ABOUT),
}
"""By the names of models, without a date."""
_DATE = r"(-\d{4}-\d{2}-\d{2}|[-@]\d{8}|-latest|-preview)?"


@lru_cache
def image_tokens(model: str) -> int:
    """The most input tokens of an image of any size for a model, by its name at its provider; IMAGE_TOKENS
    for a model of which no rule is known."""
    known = (most for names, most in _MOST.items() if re.fullmatch(f"({names}){_DATE}", model))
    return next(known, IMAGE_TOKENS)
