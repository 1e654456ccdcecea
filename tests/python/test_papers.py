"""The documents' experiments, from Python."""

import pathlib

import pytest
import quell

PAPERS = pathlib.Path(__file__).parents[2] / "papers"


def test_computed_numbers_and_claims_have_verdicts() -> None:
    verdicts = quell.reproduce(["vrc-3.2", "vrc-4"], papers=PAPERS, cache=False)
    assert verdicts.score()["agrees"] == len(verdicts.numbers) > 0
    assert {claim.verdict for claim in verdicts.claims} == {"holds"}
    table = verdicts.table()
    assert table["id"] == [number.id for number in verdicts.numbers]
    assert {len(column) for column in table.values()} == {len(verdicts.numbers)}
    tally = verdicts.tally()
    assert tally["numbers"] == tally["come_out"] == len(verdicts.numbers)
    # What is computed is not a guess, and no seed would say otherwise.
    assert tally["computed"] > 0
    assert tally["computed"] == tally["computed_come_out"]
    assert tally["free"] == tally["edges"] == tally["withheld"] == 0
    for number in verdicts.numbers:
        low, high = number.band
        assert number.place is not None
        assert -1 <= number.place <= 1
        assert low < high


def test_a_row_at_one_seed(tmp_path: pathlib.Path) -> None:
    verdicts = quell.reproduce("redtail-v", papers=PAPERS, quick=True, cache=tmp_path)
    assert all(number.seeds == 1 and number.mean is not None for number in verdicts.numbers)


def test_names_that_are_not_there() -> None:
    with pytest.raises(ValueError, match=r"vrc-b3.*did you mean"):
        quell.reproduce("vrc-b3", papers=PAPERS)
    with pytest.raises(ValueError, match="folder does not exist"):
        quell.reproduce(papers="no/such/folder")


def test_no_names_are_not_all() -> None:
    with pytest.raises(ValueError, match="names is empty"):
        quell.reproduce([], papers=PAPERS)
    with pytest.raises(ValueError, match="unknown"):
        quell.reproduce("", papers=PAPERS)
