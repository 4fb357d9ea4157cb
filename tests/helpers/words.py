"""Look for words that a better one has replaced: the glossary of CONTRIBUTING.md says which, in its column "instead of".

A replaced word in backticks there is a name in code, and is looked for as such: in code, in file names, and between backticks in
prose. Any other is looked for everywhere, alone and as a part of names. ``python -m tests.helpers.words`` prints how many are left.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.helpers.paths import ROOT

SOURCES = {
    "collage_core": {".py"}, "collage_server": {".py", ".html"}, "tests": {".py", ".md"}, "tools": {".py", ".sh"}, "docs": {".md"},
    "frontend": {".ts", ".tsx", ".css"},
}  # fmt: skip
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile")
SKIPPED = {"frontend/src/data/protocol.ts", "tests/helpers/words.py", "tests/docs/test_words.py"}
"""Made from files that are looked through, or about the words themselves; each is there."""

ORDINARY = (
    r"click\.echo\b",  # the library's word
    r"\|\| echo\b",  # the shell's
    r"\.place\(|\bdef place\b",  # to place a candidate
)
"""Uses in which a replaced word has its ordinary meaning, wherever they stand."""

QUOTED = r"""\"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
SCRIPT = re.compile(rf"//[^\n]*|/\*.*?\*/|{QUOTED}|`(?:\\.|[^`\\])*`", re.DOTALL)
PYTHON = re.compile(rf"#[^\n]*|\"\"\".*?\"\"\"|{QUOTED}", re.DOTALL)
HASHED = re.compile(r"#[^\n]*")
PROSE = {".py": PYTHON, ".css": re.compile(r"/\*.*?\*/", re.DOTALL), ".sh": HASHED, "": HASHED}
"""Ending of a file → its comments and strings; of a file without one, such as a Makefile, its comments."""

Exceptions = dict[tuple[str, str], str]
"""(File or folder, replaced word) → why it may stand there."""


@dataclass(frozen=True)
class Replaced:
    """A word that another has replaced.

    Attributes:
        word: As the glossary has it, without backticks.
        is_name: Whether it is looked for as a name in code alone.
        better: The word to use instead.
    """

    word: str
    is_name: bool
    better: str

    @property
    def pattern(self) -> str:
        """How it is written: a name as it is, other words in two parts with or without a hyphen."""
        return re.escape(self.word) if self.is_name else r"[\s-]?".join(map(re.escape, re.split(r"[\s-]", self.word)))


@dataclass(frozen=True)
class Line:
    """A line of a file.

    Attributes:
        text: As it stands.
        code: With all that is not code left blank.
        words: In lower case, with its names taken apart: ``hand_overOf`` is ``hand over of``.
    """

    file: str
    number: int
    text: str
    code: str
    words: str


def glossary(text: str) -> list[Replaced]:
    """Return the replaced words of a glossary: a table of which the first cell is the better word and the third the replaced ones."""
    found = []
    for row in re.findall(r"^\|(.*)\|$", text.partition("## Glossary")[2], re.MULTILINE):
        better, _, replaced = (cell.strip() for cell in row.split("|"))
        if replaced and replaced != "instead of" and not set(replaced) <= {"-"}:
            found += [Replaced(word.strip().strip("`"), word.strip().startswith("`"), better) for word in replaced.split(",")]
    return found


def left(replaced: Iterable[Replaced], lines: Iterable[Line], allowed: Exceptions) -> list[tuple[Replaced, Line]]:
    """Return each replaced word and each line that still holds it."""
    words = list(replaced)
    names, others = ([word for word in words if word.is_name is is_name] for is_name in (True, False))
    any_name, any_other, found = _any_name(names), _any_word(others), []
    for line in lines:
        for name in dict.fromkeys(any_name.findall(line.code)):
            found += [(word, line) for word in names if word.word == name]
        if any_other.search(line.words):
            found += [(word, line) for word in others if _any_word([word]).search(line.words)]
    return [(word, line) for word, line in found if not is_allowed(word.word, line.file, allowed)]


def _any_name(words: Sequence[Replaced]) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{'|'.join(word.pattern for word in words) or '(?!)'})(?![\w-])")


def _any_word(words: Sequence[Replaced]) -> re.Pattern[str]:
    """Finds any of `words` in a text in lower case, in plural too. An expression that ignores case is several times slower."""
    return re.compile(rf"\b(?:{'|'.join(word.pattern.lower() for word in words) or '(?!)'})(?:s|es)?\b")


def is_allowed(word: str, file: str, allowed: Exceptions) -> bool:
    return any(word == named and (file == within or file.startswith(f"{within}/")) for within, named in allowed)


def all_lines(root: Path = ROOT) -> Iterator[Line]:
    """Yield every line of sources, docs, the page and tests; a line 0 of each file is its name."""
    for path in files(root):
        name = path.relative_to(root).as_posix()
        yield Line(name, 0, path.name, path.stem, _apart(path.stem))
        yield from lines_of(name, without_replaced(name, path.read_text(encoding="utf-8")))


def files(root: Path) -> Iterator[Path]:
    for folder, endings in SOURCES.items():
        found = (path for path in sorted((root / folder).rglob("*")) if path.suffix in endings and path.is_file())
        yield from (path for path in found if path.relative_to(root).as_posix() not in SKIPPED)
    yield from (root / name for name in PAGES if (root / name).is_file())


def without_replaced(name: str, text: str) -> str:
    """Leave out the column of replaced words, where `text` is the page with the glossary."""
    if name != "CONTRIBUTING.md":
        return text
    before, heading, table = text.partition("## Glossary")
    return before + heading + re.sub(r"^(\|[^|]*\|[^|]*\|).*\|$", r"\1 |", table, flags=re.MULTILINE)


def lines_of(name: str, text: str) -> Iterator[Line]:
    """Yield the lines of a file; ordinary uses of replaced words are blank."""
    forms = [code_of(Path(name).suffix, text), text]
    for pattern in ORDINARY:
        forms = [re.sub(pattern, lambda match: " " * len(match[0]), form) for form in forms]
    for number, (line, code, rest) in enumerate(zip(text.split("\n"), *(form.split("\n") for form in forms), strict=True), 1):
        yield Line(name, number, line, code, _apart(rest))


def _apart(text: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text.replace("_", " ")).lower()


def code_of(suffix: str, text: str) -> str:
    """Return `text` with all but its code left blank; text between backticks in prose is code too."""
    made = list(text)
    for first, last in prose_of(suffix, text):
        blank = re.sub(r"[^\n]", " ", text[first:last])
        for quoted in re.finditer(r"(?s)```.*?```|`[^`\n]*`", text[first:last]):
            blank = blank[: quoted.start()] + quoted[0] + blank[quoted.end() :]
        made[first:last] = blank
    return "".join(made)


def prose_of(suffix: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield where in a file of this ending there is no code: in comments and strings, and everywhere in Markdown."""
    if suffix == ".md":
        yield 0, len(text)
    elif suffix in (".ts", ".tsx"):
        yield from prose_of_script(text)
    elif suffix in PROSE:
        yield from (match.span() for match in PROSE[suffix].finditer(text))


def prose_of_script(text: str) -> Iterator[tuple[int, int]]:
    """Yield comments and strings of TypeScript; the part of a template between ``${`` and ``}`` is code."""
    for match in SCRIPT.finditer(text):
        first, last = match.span()
        if text[first] == "`":
            first, last = first + 1, last - 1
            for code in re.finditer(r"\$\{[^}]*\}", match[0]):
                yield first, match.start() + code.start()
                first = match.start() + code.end()
        yield first, last


def counts(found: Iterable[tuple[Replaced, Line]]) -> str:
    """Return a table of how often each replaced word is left, the most frequent first."""
    tally = Counter(word for word, _ in found)
    return "\n".join(f"{number:>5}  {word.word} (say: {word.better})" for word, number in tally.most_common())


def main() -> None:
    from tests.docs.test_words import ALLOWED

    found = left(glossary((ROOT / "CONTRIBUTING.md").read_text()), all_lines(), ALLOWED)
    for word, line in found:
        print(f"{line.file}:{line.number}: {word.word!r} (say: {word.better}): {line.text.strip()}")
    print(f"\n{counts(found)}\n{len(found):>5}  in all")


if __name__ == "__main__":
    main()
