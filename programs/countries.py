"""Countries for the data of keywords.got and for its simulator: how often each is named in a text."""

from __future__ import annotations

import re

COUNTRIES = (
    """
Argentina, Australia, Austria, Belgium, Bolivia, Brazil, Canada, Chile, China, Colombia, Croatia,
Cuba, Denmark, Ecuador, Egypt, Ethiopia, Finland, France, Germany, Ghana, Greece, Hungary, Iceland,
India, Indonesia, Iran, Ireland, Italy, Japan, Jordan, Kenya, Malaysia, Mexico, Mongolia, Morocco,
Nepal, Netherlands, New Zealand, Nigeria, North Korea, Norway, Peru, Philippines, Poland, Portugal,
Romania, Russia, Senegal, Singapore, South Africa, South Korea, Spain, Sri Lanka, Sweden,
Switzerland, Tanzania, Thailand, Tunisia, Turkey, Uganda, Ukraine, United Kingdom, United States,
Vietnam
""".replace("\n", " ")
    .strip()
    .split(", ")
)

OTHERS = (
    """
Afghanistan, Albania, Algeria, Angola, Armenia, Azerbaijan, Bahrain, Bangladesh, Belarus, Botswana, Bulgaria,
Cambodia, Cameroon, Costa Rica, Cyprus, Czech Republic, Dominican Republic, El Salvador, Estonia, Fiji,
Georgia, Guatemala, Haiti, Honduras, Iraq, Israel, Jamaica, Kazakhstan, Kuwait, Laos, Latvia, Lebanon,
Libya, Lithuania, Luxembourg, Madagascar, Mali, Malta, Mozambique, Myanmar, Namibia, Nicaragua, Niger, Oman,
Pakistan, Panama, Paraguay, Qatar, Rwanda, Saudi Arabia, Scotland, Serbia, Slovakia, Slovenia, Somalia, Sudan,
Syria, Taiwan, Uruguay, Venezuela, Yemen, Zambia, Zimbabwe
""".replace("\n", " ")
    .strip()
    .split(", ")
)
"""More names that a simulated model knows; our own texts hold none of them."""

_NAMED = re.compile(r"\b(" + "|".join(sorted([*COUNTRIES, *OTHERS], key=len, reverse=True)) + r")\b")


def mentions(text: str) -> dict[str, int]:
    """How often each country is named in a text, in the order of first mention."""
    found: dict[str, int] = {}
    for match in _NAMED.finditer(text):
        found[match[1]] = found.get(match[1], 0) + 1
    return found
