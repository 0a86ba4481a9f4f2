"""Providers with protocols of their own: the page's commands, what they send, and how they fail."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from support.gotc import ROOT, document, gotc, vote
from support.openai_server import OpenAIServer

PAGE = (ROOT / "docs" / "providers.md").read_text(encoding="utf-8")
KEY = "sk-planted-0123456789abcdef"


def test_the_page_s_commands_run_and_are_priced(tmp_path: Path) -> None:
    vote(tmp_path)
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    with OpenAIServer(lambda body, index: "7", key=KEY) as server:
        hosts = {"ANTHROPIC": "", "GEMINI": "/v1beta", "OPENAI": "/v1"}
        environment = {f"{name}_BASE_URL": server.root + path for name, path in hosts.items()}
        environment |= {f"{name}_API_KEY": KEY for name in hosts}
        for command in "".join(blocks).splitlines():
            if "openai-responses" in command:  # the price of an OpenAI model is that of OpenAI's address
                command = command.partition(" --max-usd")[0]
            found = document(gotc(*shlex.split(command)[1:], "--json", cwd=tmp_path, **environment))
            assert found["result"] == 7
            assert "openai" in command or found["spent"]["usd"] > 0
    assert len({seen.path for seen in server.requests}) == len(blocks) == 3
