"""The public table: its pages, its commands, and entries of others."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import quell
from conftest import make_scenario
from quell import leaderboard
from quell.leaderboard import Cell, Entry, Program, ProgramError
from quell.leaderboard.__main__ import main, program_of
from quell.leaderboard.cells import FLOW_QUEUES

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "python/quell/leaderboard/leaderboard.json"
ADAPTOR = ROOT / "conformance/adaptors/python/adaptor.py"


@pytest.fixture(scope="module")
def published() -> leaderboard.Board:
    return leaderboard.load(PUBLISHED)


def test_the_pages_are_what_the_cells_say(published: leaderboard.Board) -> None:
    again = "run `python -m quell.leaderboard --rewrite --docs docs`"
    assert leaderboard.page(published) in (ROOT / "docs/leaderboard.md").read_text(), again
    for link in leaderboard.LINKS:
        assert leaderboard.link_page(published, link) == (ROOT / f"docs/leaderboard/{link}.md").read_text(), (
            again
        )
    assert published.text() == PUBLISHED.read_text()


def test_every_algorithm_meets_every_sender_on_every_link_of_quell_new(published: leaderboard.Board) -> None:
    listed = {path.stem for path in ROOT.glob("scenarios/links/*.toml")}
    # Of the two presets of one path, the one whose handovers are listed.
    assert listed - {"starlink-handovers"} == set(leaderboard.LINKS)
    assert set(leaderboard.SENDERS) == {p["name"] for p in quell.tcp_list() if p["key"] == "congestion"}
    names = [algorithm["name"] for algorithm in quell.aqm_list()]
    asked = [(a, link, s) for link in leaderboard.LINKS for s in leaderboard.SENDERS for a in names]
    assert [(cell.entry, cell.link, cell.sender) for cell in published.cells] == asked, (
        "run `make leaderboard`"
    )
    for cell in published.cells:
        first = leaderboard.first_seed(Entry(cell.entry), cell.link, cell.sender)
        assert cell.seeds == list(range(first, first + len(cell.seeds)))
        assert bool(cell.digest) != bool(cell.refused)


@pytest.mark.parametrize(
    ("link", "sender", "algorithm"),
    [("lte", "prague", "codel"), ("port-10g", "ledbat", "pie"), ("cable-upstream", "cubic", "red")],
)
def test_the_command_on_the_page_computes_the_cell_again(
    link: str, sender: str, algorithm: str, published: leaderboard.Board, tmp_path: Path
) -> None:
    page = (ROOT / f"docs/leaderboard/{link}.md").read_text()
    part = page.split(f"\n## {sender}\n")[1].split("\n## ")[0]
    line = re.search(r"```sh\n(.*?)```", part, re.DOTALL)
    row = re.search(rf"^\| \[`{algorithm}`\].* ([0-9]+-[0-9]+) \|$", part, re.MULTILINE)
    assert line is not None
    assert row is not None
    command = line[1].strip().replace("ALGORITHM", algorithm).replace("SEEDS", row[1])
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        f"{command} --format json --metric all",
        shell=True,
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "has no effect" not in done.stderr
    assert (tmp_path / f"results/{link}-{sender}-{algorithm}/run.json").is_file()
    found = json.loads(done.stdout)
    (cell,) = [c for c in published.cells if (c.entry, c.link, c.sender) == (algorithm, link, sender)]
    assert found["digest"].startswith(cell.digest)
    metrics = found["points"][0]["rows"][0]["metrics"]
    for metric in cell.values:
        mean = leaderboard.mean(cell.of(metric))
        assert mean is not None
        assert metrics[metric]["mean"] == pytest.approx(mean[0], rel=1e-4)


MINE = """
import quell

class Nothing(quell.Aqm):
    def on_enqueue(self, cx, pkt):
        return quell.PASS
"""


def test_a_class_in_python_is_placed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    # The published table comes with the package.
    only = ["--links", "lte", "--senders", "cubic", "--seeds", "2"]
    out = tmp_path / "out.json"
    assert main(["--entry", f"{file}:Nothing", *only, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert re.search(r"\| Low delay \| \d+ of 52 \|", said)
    (cell,) = leaderboard.load(out).cells
    # A queue that decides nothing is drop-tail, with the same seeds.
    scenario = quell.new("bulk", link="lte", aqm=["drop-tail"], duration=leaderboard.LINKS["lte"].duration)
    same = quell.run(scenario, seeds=cell.seeds, overrides={"warmup": leaderboard.LINKS["lte"].warmup})
    delay = same.table(["queue_delay_p99_s"])["mean"][0]
    mean = leaderboard.mean(cell.of("queue_delay_p99_s"))
    assert mean is not None
    assert mean[0] == pytest.approx(delay, rel=1e-4)
    # Another byte in the file, other seeds.
    seed = leaderboard.first_seed(Entry("Nothing", {}, object, MINE.encode()), "lte", "cubic")
    assert seed == cell.seeds[0]
    assert seed != leaderboard.first_seed(Entry("Nothing", {}, object, MINE.encode() + b"\n"), "lte", "cubic")


def run_with(program: Any, *algorithms: dict[str, Any]) -> quell.Results:
    scenario = make_scenario(*algorithms, {"algorithm": "theirs"}, duration="12 s")
    return quell.run(scenario, aqms={"theirs": program}, seeds=1, series="none")


def test_a_program_decides_in_the_simulator_as_the_catalog_does() -> None:
    told = {
        "arithmetic": "exact",
        "ce_threshold": None,
        "interval": 0.1,
        "mtu": None,
        "on_empty": "forgets",
        "target": 0.005,
    }
    settings = [f"{key}={json.dumps(value)}" for key, value in told.items()]
    entry = program_of(f"{sys.executable} {ADAPTOR}", "codel", settings, None)
    assert entry.factory is not None
    results = run_with(entry.factory, {"algorithm": "codel"})
    assert results.digests[0, "theirs", 1] == results.digests[0, "codel", 1]
    assert results.table(["early_loss_rate"])["mean"][0] > 0
    # What it reads is a part of what it is.
    assert entry.text != program_of(f"{sys.executable} {ADAPTOR}", "codel", settings[1:], None).text


ANSWERS = {
    "keeps more than the buffer": (
        '{"verdict":"queued"}',
        '{"sent":HEAD}',
        "drops what the buffer has no room for",
    ),
    "sends another packet": ('{"verdict":"queued"}', '{"sent":12345678}', "sends or drops packet 0 next"),
    "sends nothing": ('{"verdict":"queued"}', "{}", "sends or drops packet 0 next"),
    "drops what waits": (
        '{"verdict":"queued","dropped":[0]}',
        "{}",
        "drops packets that wait at the head alone",
    ),
    "has another verdict": ('{"verdict":"lost"}', "{}", 'answers with the verdict "queued"'),
    "marks what may not be": ('{"verdict":"marked"}', "{}", '"marked" if it may be'),
    "says no JSON": ("no", "{}", "answers each line with a JSON object"),
    "says a list": ("[]", "{}", "answers each line with a JSON object"),
    "draws too much": ('{"verdict":"queued","used":5}', "{}", "at most 4 random numbers"),
}
LIAR = """
import json, sys
from collections import deque
waiting = deque()
input()
print('{"ready":true}', flush=True)
for line in sys.stdin:
    event = json.loads(line)
    if event["do"] == "enqueue":
        waiting.append(event["packet"]["id"])
        print(ENQUEUE, flush=True)
    elif event["do"] == "dequeue":
        print(DEQUEUE.replace("HEAD", str(waiting.popleft())), flush=True)
    else:
        print("{}", flush=True)
"""


@pytest.mark.parametrize("name", ANSWERS)
def test_a_program_that_answers_wrongly_is_told_what_is_asked(name: str, tmp_path: Path) -> None:
    enqueue, dequeue, said = ANSWERS[name]
    file = tmp_path / "liar.py"
    file.write_text(LIAR.replace("ENQUEUE", repr(enqueue)).replace("DEQUEUE", repr(dequeue)))
    entry = program_of(f"{sys.executable} {file}", "liar", [], None)
    assert entry.factory is not None
    with pytest.raises(ProgramError, match=re.escape(said)):
        run_with(entry.factory)


def test_a_program_that_ends_or_skips_or_is_not_there_is_said_so() -> None:
    def starts(text: str) -> Any:
        return lambda link: Program(link, command=[sys.executable, "-c", text], algorithm="x")

    with pytest.raises(ProgramError, match=r"event 0: came \"\"; an entry answers each line"):
        run_with(starts("pass"))
    skip = 'input(); print(\'{"skip": "no ECN"}\')'
    cell = leaderboard.measure(Entry("x", {}, starts(skip), b""), "lte", "cubic", 1)
    assert cell.refused == "the program skips it: no ECN"
    with pytest.raises(ProgramError, match="there is no such program"):
        run_with(lambda link: Program(link, command=["absent-program"], algorithm="x"))


def cell(entry: str, goodput: float, delay: float, **more: Any) -> Cell:
    values: dict[str, list[float | None]] = {
        "goodput_bps": [goodput] * 2,
        "queue_delay_p99_s": [delay] * 2,
        "jain_index": [0.5] * 2,
    }
    values["round_trip_time_mean_s"] = [0.1] * 2
    return Cell(entry, "cable", "cubic", [1, 2], "d", values, **more)


def test_ranks_share_places_and_what_starves_comes_last() -> None:
    cells = [cell("a", 9e6, 0.010), cell("b", 9e6, 0.01000001), cell("c", 10e6, 0.030), cell("d", 1e5, 0.0)]
    cells.append(cell("e", 0, 0, refused="no"))
    assert leaderboard.ranks(cells, "delay") == {"a": 1.5, "b": 1.5, "c": 3, "d": 4}
    assert leaderboard.ranks(cells, "throughput") == {"c": 1, "a": 2.5, "b": 2.5, "d": 4}
    assert leaderboard.starved(cells) >= {"d"}
    assert leaderboard.front(cells) == {"a", "b", "c"}
    (a, *_) = leaderboard.standing(leaderboard.Board(cells))
    assert a.ranks["delay"] == (1.5, 0.0)
    assert (a.fronts, a.cells, a.goodput_share) == (1, 1, 0.9)
    assert leaderboard.mean([1.0, 2.0, 3.0]) == pytest.approx((2.0, 4.3027 / 3**0.5))
    assert leaderboard.mean([1.0, None]) is None


WRONG = {
    "--entry codle": "--entry 'codle': is not in `quell aqm list`",
    "--entry absent.py:Mine": "there is no file absent.py",
    "--entry codel --set target": "is not KEY=VALUE",
    "--links home": "--links 'home': is none of cable",
    "--senders vegas": "--senders 'vegas': is none of cubic",
    "--seeds 0": "--seeds 0: must lie in 1 to 10",
    "--entry codel --set targt=1 --links lte --senders cubic": 'did you mean "target"?',
    "--entry codel --board absent.json": "No such file or directory: 'absent.json'",
    "--entry codel --rewrite": "--rewrite: is of a whole table",
    "--set target=1": "--set: is of an entry",
}


@pytest.mark.parametrize("line", WRONG)
def test_what_is_asked_wrongly_is_refused_in_words(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 2
    said = capsys.readouterr()
    assert WRONG[line] in said.err
    assert said.out == ""


def test_a_file_without_the_class_says_what_it_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    assert main(["--entry", f"{tmp_path / 'mine.py'}:Something"]) == 2
    assert "it has Nothing" in capsys.readouterr().err


def test_what_is_not_a_board_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ["", "[]", "{}", "1"]:
        file = tmp_path / "no.json"
        file.write_text(text)
        assert main(["--entry", "codel", "--board", str(file)]) == 2
        assert "is not a board" in capsys.readouterr().err


def test_the_pages_are_written_again_without_a_run(published: leaderboard.Board, tmp_path: Path) -> None:
    summary = (ROOT / "docs/leaderboard.md").read_text()
    (tmp_path / "leaderboard.md").write_text(summary.replace(leaderboard.page(published), "old\n"))
    assert main(["--rewrite", "--docs", str(tmp_path)]) == 0
    assert (tmp_path / "leaderboard.md").read_text() == summary
    assert (tmp_path / "leaderboard/dsl.md").read_text() == (ROOT / "docs/leaderboard/dsl.md").read_text()
    assert sorted(path.suffix for path in tmp_path.rglob("*.*")) == [".md"] * (1 + len(leaderboard.LINKS))


def test_intervals_end_where_metrics_do() -> None:
    values: dict[str, list[float | None]] = {
        "goodput_bps": [10e6, 40e6],
        "queue_delay_p99_s": [0.010, 0.180],
        "round_trip_time_mean_s": [0.1, 0.1],
        "jain_index": [0.9, 1.0],
    }
    page = leaderboard.link_page(
        leaderboard.Board([Cell("codel", "dsl", "cubic", [1, 2], "d", values)]), "dsl"
    )
    (row,) = [line for line in page.splitlines() if line.startswith("| [`codel`]")]
    cells = [cell.strip() for cell in row.split("|")[2:-1]]
    # The mean and 12.706 times the standard error: 85, 15 and 0.05.
    assert cells[:3] == ["95.0 [0, 1175.0]", "25.0 [0, 215.6]", "0.950 [0.315, 1]"]
    # Delays that ranks part are parted on the page as well.
    values["queue_delay_p99_s"] = [30.4e-6, 30.4e-6]
    assert "| 0.0304 ± 0.0000 |" in leaderboard.link_page(
        leaderboard.Board([Cell("codel", "dsl", "cubic", [1, 2], "d", values)]), "dsl"
    )
    # A column for each rank, by which readers sort.
    assert cells[4:8] == ["1"] * 4
    # Values alike to all digits shown have no ends to show.
    values["jain_index"] = [0.99999, 1.0]
    assert "| 1.00 ± 0.00 |" in leaderboard.link_page(
        leaderboard.Board([Cell("codel", "dsl", "cubic", [1, 2], "d", values)]), "dsl"
    )


def test_a_rank_lies_between_the_first_and_the_last() -> None:
    values: dict[str, list[float | None]] = {
        "goodput_bps": [9e6, 9e6],
        "jain_index": [0.5] * 2,
        "round_trip_time_mean_s": [0.1] * 2,
    }
    delays = {"codel": [0.010, 0.020], "pie": [0.020, 0.010]}
    cells = [
        Cell(entry, "dsl", "cubic", [1, 2], "d", {**values, "queue_delay_p99_s": list(of)})
        for entry, of in delays.items()
    ]
    assert "| Low delay | 1 of 2 | 1.5 [1, 2] | `codel` (100%, 15 ms) |" in leaderboard.report(
        leaderboard.Board(cells), "codel"
    )


def test_the_interval_of_a_mean_rank_is_of_the_replications(published: leaderboard.Board) -> None:
    for link in [None, "port-10g", "satellite"]:
        board = leaderboard.Board([cell for cell in published.cells if link in (None, cell.link)])
        groups = board.groups().values()
        found = {one.entry: one.ranks for one in leaderboard.standing(board)}
        for goal in leaderboard.GOALS:
            each = [[leaderboard.ranks(cells, goal, seed) for cells in groups] for seed in range(3)]
            for entry, of in found.items():
                center, half = of[goal]
                replicates = [statistics.fmean(ranks[entry] for ranks in seed) for seed in each]
                assert center == pytest.approx(statistics.fmean(replicates), rel=1e-12)
                assert half == pytest.approx(4.3027 * statistics.stdev(replicates) / 3**0.5, abs=1e-9)
                assert min(replicates) <= center + 1e-9
                assert max(replicates) >= center - 1e-9
    # Ranks of the means give another center here: averages part a and b, single seeds do not.
    cells = [noisy("a", [0.010, 0.040, 0.010]), noisy("b", [0.020, 0.015, 0.020]), noisy("c", [0.030] * 3)]
    assert leaderboard.ranks(cells, "delay") == {"b": 1, "a": 2, "c": 3}
    (a, *_) = leaderboard.standing(leaderboard.Board(cells))
    # The ranks are 1, 3 and 1.
    assert a.ranks["delay"] == pytest.approx((5 / 3, 4.3027 * 2 / 3))
    # The delay that stands beside them is summarized in the same way.
    assert (a.delay_s, a.delay_half_s) == pytest.approx((0.020, 4.3027 * 0.010))


def noisy(entry: str, delays: list[float]) -> Cell:
    values: dict[str, list[float | None]] = {
        "goodput_bps": [9e6] * 3,
        "queue_delay_p99_s": list(delays),
        "round_trip_time_mean_s": [0.1] * 3,
        "jain_index": [0.5] * 3,
    }
    return Cell(entry, "cable", "cubic", [1, 2, 3], "d", values)


def test_the_advice_warns_of_what_is_surpassed_or_carries_little() -> None:
    # One queue is worse in both than the flow queue, and starves none; the least delay costs half.
    cells = [cell("codel", 9e6, 0.020), cell("cake", 10e6, 0.010), cell("pid", 5e6, 0.001)]
    # The least delay of all, but starved, so not advised.
    cells.append(cell("lred", 5e5, 0.0001))
    board = leaderboard.Board(cells)
    (row,) = [line for line in leaderboard.page(board).splitlines() if line.startswith("| [cable](")][:1]
    assert "[`codel`](algorithms/codel.md) (90%, 20 ms) † |" in row
    assert "[`cake`](algorithms/cake.md) (100%, 10 ms) |" in row
    assert "[`pid`](algorithms/pid.md) (50%, 1 ms) ‡ |" in row
    page = leaderboard.link_page(board, "cable")
    assert "(90%, 20 ms). `cake` has no less goodput than `codel`, and no more delay." in page
    assert "(50%, 1 ms). `pid` carries less than two thirds of the best goodput." in page


def test_no_lowest_delay_is_surpassed_in_its_row(published: leaderboard.Board) -> None:
    text = leaderboard.page(published).split("## Balance")[0]
    rows = [line for line in text.splitlines() if line.startswith("| [")]
    assert len(rows) == len(leaderboard.LINKS)
    for row in rows:
        *others, last = [float(delay) for delay in re.findall(r"%, ([\d.]+) ms\)", row)]
        assert all(last <= other for other in others), row


def test_the_advice_names_what_chance_does_not_part(published: leaderboard.Board) -> None:
    named = {algorithm["name"] for algorithm in quell.aqm_list()}
    assert set(FLOW_QUEUES) < named
    page = leaderboard.link_page(published, "lte")
    (one,) = re.findall(r"^- \*\*One queue:\*\* \[`(.*?)`\]", page, re.MULTILINE)
    (flows,) = re.findall(r"^- \*\*Flow queues:\*\* \[`(.*?)`\]", page, re.MULTILINE)
    found = leaderboard.standing(leaderboard.Board([c for c in published.cells if c.link == "lte"]))
    balance = {one.entry: one.ranks["balance"][0] for one in found}
    assert balance[one] == min(rank for entry, rank in balance.items() if entry not in FLOW_QUEUES)
    assert balance[flows] == min(balance[entry] for entry in FLOW_QUEUES)
    # What these differ by is chance.
    alike = [cell("codel", 9e6, 0.010), cell("pie", 9e6, 0.010), cell("cake", 9e6, 0.010)]
    assert "Chance may explain its lead over `pie`." in leaderboard.link_page(
        leaderboard.Board(alike), "cable"
    )


def test_a_table_of_another_round_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = tmp_path / "old.json"
    old.write_text(PUBLISHED.read_text().replace('"round": "', '"round": "1'))
    assert main(["--entry", "codel", "--board", str(old)]) == 2
    assert "use the table of this version" in capsys.readouterr().err
