"""The list of long tests names tests that exist, so that none is left out or run by mistake after a change of name."""

from pathlib import Path

FOLDER = Path(__file__).parent


def test_every_line_of_the_list_is_a_test() -> None:
    lines = (FOLDER / "data" / "slow_tests.txt").read_text(encoding="utf-8").splitlines()
    listed = [line for line in lines if not line.startswith("#")]
    assert listed
    for line in listed:
        path, _, name = line.partition("::")
        source = (FOLDER.parent / path).read_text(encoding="utf-8")
        assert not name or f"def {name.partition('[')[0]}(" in source, line
    assert listed == sorted(set(listed))
