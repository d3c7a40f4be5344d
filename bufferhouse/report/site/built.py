"""What a build of a site did: known without what makes pages, which takes half a second to import."""

from collections.abc import Callable
from dataclasses import dataclass

Progress = Callable[[int, int], None]


@dataclass
class Built:
    """What a build did."""

    page_count: int = 0
    written_count: int = 0
    file_count: int = 0
    written_bytes: int = 0
    is_new: bool = True
