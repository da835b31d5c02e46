"""Which files and folders are left out, by patterns in .gitignore syntax. Hides the library that matches them."""

import hashlib
from dataclasses import dataclass

from pathspec import GitIgnoreSpec

from winnowd import disk
from winnowd.config import Config


@dataclass(frozen=True, slots=True)
class Rules:
    """Which names are left out, by patterns in .gitignore syntax."""

    patterns: tuple[str, ...]
    spec: GitIgnoreSpec

    def rule_for(self, relative: str, *, folder: bool) -> str | None:
        """The pattern that leaves a path (relative to its root) out, None where none does."""
        result = self.spec.check_file(relative + "/" if folder else relative)
        return self.patterns[result.index] if result.include and result.index is not None else None

    @property
    def digest(self) -> str:
        """Tells whether the rules changed since the last walk."""
        return hashlib.sha256("\n".join(self.patterns).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def rules_for(config: Config, path: str) -> Rules:
    """The rules that hold for the root at `path`."""
    own = next((root.exclude for root in config.roots if str(root.path) == path), ())
    patterns = (*config.walk.exclude, *own)
    return Rules(patterns, GitIgnoreSpec.from_lines(patterns))


def excluding(applied: Rules, relative: str) -> tuple[str, str] | None:
    """The folder above or at a path (relative to its root) that is left out, and the pattern that does it."""
    for folder in (relative, *disk.parents(relative)):
        rule = applied.rule_for(folder, folder=True) if folder else None
        if rule is not None:
            return folder, rule
    return None
