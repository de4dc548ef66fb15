"""Which judges are of one family: a model does not audit its own kind."""

from __future__ import annotations

import re
from typing import Final

from pytest_novelty.judges.base import Judge

_KIN: Final = {
    "gpt": r"(?:chat)?gpt|^o\d|davinci|codex",
    "claude": r"claude",
    "gemini": r"gemini[a-z]*|[a-z]*gemma[a-z]*|palm",
    "llama": r"(?!ollama)[a-z]*llama[a-z]*|vicuna",
    "mistral": r"[a-z]*mi[sx]tral[a-z]*|codestral|ministral|magistral|devstral|pixtral|voxtral|mathstral",
    "qwen": r"[a-z]*qwen[a-z]*|qwq|qvq",
    "deepseek": r"deepseek[a-z]*",
    "grok": r"grok",
    "command": r"command|c4ai|aya",
    "phi": r"phi",
    "kimi": r"kimi|moonshot",
    "glm": r"(?:chat)?glm",
    "nova": r"nova|titan",
}
"""Families by the words that names of their models have."""

_WORDS: Final = re.compile(
    r"(?<![a-z])(?:" + "|".join(f"(?P<{name}>{kin})" for name, kin in _KIN.items()) + r")(?![a-z])"
)

_BEFORE: Final = re.compile(
    r"ft:"  # a fine-tuned model: ft:BASE:ORGANISATION::ID
    r"|(?:us|eu|apac|global|us-gov|jp|au|ca)\."  # where it is served
    r"|(?:ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshot|nvidia|openai|qwen|stability|writer|zai)\."
)
_SUFFIX: Final = re.compile(r"\.(?:gguf|ggml|llamafile|safetensors|bin)$")
_CHOSEN: Final = re.compile(r"azure(?:_[a-z]+)?/|sagemaker(?:_[a-z]+)?/|(?:[a-z_]+/)?arn:")
"""Where the name is that of a deployment, which its user chose: it may say nothing of the model."""

FAMILIES: Final = tuple(_KIN)


def family_of(judge: Judge) -> str:
    """What a judge declares, else what the name of its model tells; empty for a judge of which we know no model."""
    if judge.traits.family:
        return judge.traits.family.casefold()
    model = (judge.asked or {}).get("model")
    return family_of_model(model) if isinstance(model, str) else ""


def declared_family(judge: object) -> str:
    """What a judge that is registered, and may not be of the run, says of itself; empty where it does not."""
    declared = getattr(judge, "family", None)
    return declared.casefold() if isinstance(declared, str) else ""


def family_of_model(name: str) -> str:
    """The family of a model by its name, as providers, servers and files write it: with a provider, region or vendor before it,
    a tag or version behind it.

    The first word that tells a family counts: ``deepseek-r1-distill-llama-70b`` is of deepseek, whose answers it was taught to
    give, and not of llama, whose weights it began with. Of an unknown model it is the letters that its name begins with; of a
    deployment with a name of its user's choice, which tells nothing, it is empty.
    """
    name = name.casefold()
    whole = _SUFFIX.sub("", re.split(r"[/\\]", name.rstrip("/\\"))[-1])
    own = whole
    while before := _BEFORE.match(own):
        own = own[before.end() :]
    if found := _WORDS.search(whole) or _WORDS.search(own):  # deepseek.r1 has it in the vendor's name
        return str(found.lastgroup)
    if _CHOSEN.match(name):
        return ""
    letters = re.match(r"[a-z]+", own)
    return letters[0] if letters else own


def is_kin(judge: Judge, auditor: Judge) -> bool:
    """They are one judge, or of one family; nothing can be told of a judge whose family is not known."""
    family = family_of(judge)
    return judge.name == auditor.name or (bool(family) and family == family_of(auditor))
