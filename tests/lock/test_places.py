"""Source files as a lock names them."""

from pathlib import Path

import pytest

from bufferhouse.lock.places import Checkout


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("/home/runner/repo/ci/train.py:7", "train.py:7"),
        ("/home/runner/repo/src/model/layers.py:12", "../src/model/layers.py:12"),
        ("/home/runner/repo/src/model/heads.py:12", "/home/runner/repo/src/model/heads.py:12"),
        ("/usr/lib/python3/site-packages/flax/linen.py:3", "flax/linen.py:3"),
        ("/tmp/scratch.py:1", "/tmp/scratch.py:1"),
    ],
)
def test_a_file_of_the_repository_has_one_name_wherever_it_was_compiled(tmp_path: Path, source: str, told: str):
    """Also one above the folder of the lock, which is told with `..`; what is of nobody's checkout stays as it is."""
    for name in (".git", "ci", "src/model"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "ci" / "train.py").touch()
    (tmp_path / "src" / "model" / "layers.py").touch()
    assert told == Checkout(tmp_path / "ci").told(source)
