"""Rewrite rules."""

from __future__ import annotations

import os


class Rules:
    """Rules in text notation, for Model.optimize(rules=…). Make them with from_text() or from_file()."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name

    @classmethod
    def from_text(cls, text: str, *, name: str = "<rules>") -> Rules:
        """Reads rules from a text. `name` is the name of the text in messages."""
        return cls(text, name)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Rules:
        """Reads rules from a file."""
        with open(path, encoding="utf-8") as file:
            return cls(file.read(), os.fspath(path))

    def __repr__(self) -> str:
        return f"<tenon.Rules of {self.name}>"
