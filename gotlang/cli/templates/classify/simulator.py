"""A simulator of the prompts: it confuses the event (first sentence) with the request (the last)."""

from __future__ import annotations

import random

TEAMS = {
    "billing": ("invoice", "charge", "money", "pay", "price"),
    "shipping": ("parcel", "deliver", "courier", "address", "box"),
    "account": ("password", "log in", "e-mail", "profile", "delete my data"),
}
"""Keywords of each team."""
MIX_UPS = {"once": 0.5, "brief": 0.3, "careful": 0.12}
"""How often the first sentence decides, by prompt."""


def teams(ticket: str) -> list[str]:
    """The teams that a ticket mentions, sentence by sentence."""
    sentences = ticket.lower().split(". ")
    return [t for s in sentences for t, words in TEAMS.items() if any(w in s for w in words)] or ["account"]


def choose(rng: random.Random, ticket: str) -> str:
    """Only the team."""
    return teams(ticket)[0 if rng.random() < MIX_UPS["once"] else -1]


def reason(rng: random.Random, ticket: str, style: str) -> str:
    """A sentence or two, then the team."""
    team = teams(ticket)[0 if rng.random() < MIX_UPS[style] else -1]
    thought = "The customer needs help with this. " * (2 if style == "careful" else 1)
    return f"{thought}Team: {team}"
