"""A file is replaced whole, or not at all."""

import pytest

from bufferhouse.paths import remove_leftovers, replacing


def test_the_new_file_takes_the_place_when_all_went_well(tmp_path):
    """Until then the old one is there, and afterwards nothing else; a name may be as long as names can be."""
    for target in (tmp_path / "page.html", tmp_path / ("x" * 255)):
        target.write_text("old")
        with replacing(target, is_flushed=True) as new:
            new.write_text("new")
            assert "old" == target.read_text()
        assert "new" == target.read_text()
        target.unlink()
        assert [] == list(tmp_path.iterdir())


def test_what_fails_leaves_the_old_file(tmp_path):
    """Half of the new one is gone, and the error is heard; also where nothing was written at all."""
    target = tmp_path / "page.html"
    target.write_text("old")

    def write_half() -> None:
        with replacing(target) as new:
            new.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()
    with pytest.raises(FileNotFoundError), replacing(target):
        pass
    assert {"page.html": "old"} == {path.name: path.read_text() for path in tmp_path.iterdir()}


def test_two_at_once_have_files_of_their_own(tmp_path):
    """Whoever ends last stands."""
    target = tmp_path / "page.html"
    with replacing(target) as one, replacing(target) as other:
        one.write_text("one")
        other.write_text("other")
    assert "one" == target.read_text()


def test_what_a_killed_one_left_goes(tmp_path):
    """Its new file, and the log that DuckDB has beside one; files of other names stay."""
    names = (".w.duckdb.1-1.new", ".w.duckdb.1-1.new.wal", ".x.duckdb.1-1.new", "w.duckdb", ".w.duckdb.new.swp")
    for name in names:
        (tmp_path / name).touch()
    remove_leftovers(tmp_path / "w.duckdb")
    assert set(names[2:]) == {path.name for path in tmp_path.iterdir()}
