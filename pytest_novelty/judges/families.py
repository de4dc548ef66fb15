"""Which judges are of one family: a model does not audit its own kind."""

from __future__ import annotations

import re
from typing import Final

from pytest_novelty.judges.base import Judge

_KIN: Final = {
    "gpt": r"gpt|chatgpt|o\d|davinci|codex",
    "claude": r"claude",
    "gemini": r"gemini|gemma|palm",
    "llama": r"llama|codellama|meta-llama",
    "mistral": r"mistral|mixtral|codestral|ministral|magistral|devstral|pixtral",
    "qwen": r"qwen|qwq|qvq",
    "deepseek": r"deepseek",
    "grok": r"grok",
    "command": r"command|c4ai|aya",
    "phi": r"phi",
    "kimi": r"kimi|moonshot",
    "glm": r"glm|chatglm",
}
"""Families by how the names of their models begin."""

FAMILIES: Final = tuple(_KIN)


def family_of(judge: Judge) -> str:
    """What a judge declares, else what the name of its model tells; empty for a judge of which we know no model."""
    if judge.traits.family:
        return judge.traits.family.casefold()
    model = (judge.asked or {}).get("model")
    return family_of_model(model) if isinstance(model, str) else ""


def family_of_model(name: str) -> str:
    """The family of a model by its name, with or without a provider before it; of an unknown one the letters it begins with."""
    own = name.casefold().rpartition("/")[2].rpartition(":")[2] if "/" in name else name.casefold()
    for family, kin in _KIN.items():
        if re.match(rf"(?:{kin})", own):
            return family
    found = re.match(r"[a-z]+", own)
    return found[0] if found else own


def is_kin(judge: Judge, auditor: Judge) -> bool:
    """They are one judge, or of one family; nothing can be told of a judge whose family is not known."""
    family = family_of(judge)
    return judge.name == auditor.name or (bool(family) and family == family_of(auditor))
