"""Small disks, which root may mount."""

import subprocess
from pathlib import Path


def space(disk: Path, size: str) -> None:
    """Enlarge a disk."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)
