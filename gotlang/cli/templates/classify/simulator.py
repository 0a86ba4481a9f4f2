"""A simulator of the prompts: it mixes up what happened (first sentence) and what is asked for (the last)."""

from __future__ import annotations

import random

TEAMS = {
    "billing": ("invoice", "charge", "money", "pay", "price"),
    "shipping": ("parcel", "deliver", "courier", "address", "box"),
    "account": ("password", "log in", "e-mail", "profile", "delete my data"),
}
"""Words by which each team is known."""
MIX_UPS = {"once": 0.5, "brief": 0.3, "careful": 0.12}
"""How often the first sentence decides, by the way of asking."""


def teams(ticket: str) -> list[str]:
    """The teams that a ticket names, sentence by sentence."""
    sentences = ticket.lower().split(". ")
    return [t for s in sentences for t, words in TEAMS.items() if any(w in s for w in words)] or ["account"]


def choose(rng: random.Random, ticket: str) -> str:
    """The team alone."""
    return teams(ticket)[0 if rng.random() < MIX_UPS["once"] else -1]


def reason(rng: random.Random, ticket: str, style: str) -> str:
    """A sentence or two, then the team."""
    team = teams(ticket)[0 if rng.random() < MIX_UPS[style] else -1]
    thought = "The customer needs help with this. " * (2 if style == "careful" else 1)
    return f"{thought}Team: {team}"
