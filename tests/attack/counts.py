"""What one class of attack came to."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class Count:
    """One row of the report: what was tried, how often, and what was let through, each with the input that did it."""

    name: str
    tried: int = 0
    let_through: list[str] = field(default_factory=list)

    def attempt(self, what: str, is_held: bool) -> None:
        """Count one attempt; keep its description when it was not held."""
        self.tried += 1
        if not is_held:
            self.let_through.append(what)


# Each module of this folder offers `attack(is_short)`, which yields the counts of its classes one by one.
Attack = Callable[[bool], Iterator[Count]]
