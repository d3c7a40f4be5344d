"""The wheel: the folders of the checkout inside the package `bufferhouse`, so that nothing else lands in site-packages.

In a checkout `schemas/` and `flows/` are packages at its top. A wheel has them as `bufferhouse.schemas` and
`bufferhouse.flows`; the statements that import them are written anew while it is built, and nothing else
(docs/decisions/0030). An editable install is the checkout, as it is.
"""

import re
import shutil
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES = ("schemas", "flows")
DATA = ("dbt_like_models", "sql", "docs/glossary.md", "docs/measures.md")
_IMPORT = re.compile(rf"^(\s*from )({'|'.join(PACKAGES)})(?=[. ])", re.MULTILINE)
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.so", ".build-*", "README.md")


class WheelHook(BuildHookInterface):
    """Build the package of the wheel beside the checkout's."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Stage the package, and have it included instead of the checkout's."""
        if version == "editable":
            return
        root = Path(self.root)
        staged = root / "build" / "wheel" / "bufferhouse"
        shutil.rmtree(staged, ignore_errors=True)
        stage(root, staged)
        build_data["force_include"][str(staged)] = "bufferhouse"


def stage(root: Path, staged: Path) -> None:
    """Write the package of the wheel to a folder that is not there."""
    shutil.copytree(root / "bufferhouse", staged, ignore=_LEFT_OUT)
    for name in (*PACKAGES, *DATA):
        source, target = root / name, staged / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=_LEFT_OUT)
        else:
            target.parent.mkdir(exist_ok=True)
            shutil.copy(source, target)
    for path in staged.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        path.write_text(_IMPORT.sub(r"\1bufferhouse.\2", text), encoding="utf-8")
