"""Lines without what concerns nobody: keys, names of people and hosts, addresses, folders, and what was asked.

What a diagnosis needs stays: flags, figures, function names, the last parts of paths.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

HIDDEN = "***"
_KEY = re.compile(
    r"\b(?:hf|sk|ms|ghp|gho|glpat|xox[abp]|AKIA|eyJ)[-_A-Za-z0-9.]{12,400}"
    r"|(?<=[Bb]earer )[^\s'\"]{6,400}"
    r"|(?<=://)[^/@\s'\"]{1,200}@"
)
_NAMED = re.compile(
    r"((?:api[_-]?key|token|secret|password|passwd|authorization|credential)s?['\"]?[ =:]{1,3}\[?['\"]?)"
    r"[^\s'\",})\]]{3,400}",
    re.IGNORECASE,
)
_PROMPT = re.compile(
    r"((?:prompt|messages|content|text|input)['\"]?: ?)(?:'[^']{0,3000}'?|\"[^\"]{0,3000}\"?|\[\{.{0,3000})"
)
_REQUEST = re.compile(r"((?:Received|Added) request \S{1,80}).{0,3900}")
_ADDRESS = re.compile(r"\b(?!127\.|0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}\b|\b(?:[0-9a-f]{1,4}:){4,7}[0-9a-f]{1,4}\b")
_MAIL = re.compile(r"\b[\w.+-]{1,60}@[\w-]{1,60}\.[\w.-]{2,60}")
_HOME = re.compile(r"(/(?:home|Users|root|mnt/[a-z]/Users|data/home)/?)([^/\s'\",:)]{1,60})")
_FOLDERS = re.compile(r"(?<![\w.])/(?:[\w.@+-]{1,80}/){2,20}(?=(?:[\w.@+-]{1,80}/){1}[\w.@+-]{1,80})")


@dataclass(frozen=True)
class Redactor:
    """Takes out what is nobody's business. `names`: this user, this host, and their like."""

    names: tuple[str, ...] = ()

    def line(self, text: str) -> str:
        """The line with everything hidden that the top of this file names."""
        text = _REQUEST.sub(rf"\1 {HIDDEN}", text)
        text = _KEY.sub(HIDDEN, text)
        text = _NAMED.sub(rf"\1{HIDDEN}", text)
        text = _PROMPT.sub(rf"\1'{HIDDEN}'", text)
        text = _MAIL.sub(HIDDEN, text)
        text = _ADDRESS.sub(HIDDEN, text)
        text = _FOLDERS.sub(".../", _HOME.sub(rf"\1{HIDDEN}", text))
        for name in self.names:
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", HIDDEN, text)
        return text

    def value(self, value: object) -> object:
        """The same through lists and tables; values under secret names are hidden whole."""
        if isinstance(value, str):
            return self.line(value)
        if isinstance(value, dict):
            return {str(key): HIDDEN if _secret(str(key)) else self.value(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        return value


def _secret(name: str) -> bool:
    return bool(re.search(r"(?i)(?:^|[_-])(?:api[_-]?key|key|token|secret|password|auth\w*)$", name))
