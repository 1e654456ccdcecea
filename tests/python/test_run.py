"""Running scenarios: what goes in, what comes out, what goes wrong."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import quell
from conftest import make_scenario

DUMBBELL = Path(__file__).parents[2] / "scenarios" / "dumbbell.toml"


def test_a_file_and_the_dict_of_its_resolved_form_give_the_same_digests() -> None:
    short = {"duration": "5 s", "warmup": "1 s"}
    from_file = quell.run(DUMBBELL, seeds=2, overrides=short)
    from_text = quell.run(str(DUMBBELL), seeds=2, overrides=short)
    from_dict = quell.run(from_file.scenario)
    assert from_file.digest == from_text.digest == from_dict.digest
    assert from_file.scenario["duration"] == "5 s"


def test_digests_depend_on_the_seed_and_on_nothing_else(scenario: dict[str, Any]) -> None:
    one, two = quell.run(scenario, threads=1), quell.run(scenario, threads=2)
    reference = quell.run(scenario, engine="reference")
    assert one.digests == two.digests == reference.digests
    assert set(one.digests) == {(0, a, s) for a in ("drop-tail", "red", "pi") for s in (1, 2)}
    assert len(set(one.digests.values())) == 6
    other = quell.run(scenario, seeds=[2, 7])
    assert other.digests[0, "red", 2] == one.digests[0, "red", 2]
    assert (0, "red", 7) in other.digests


def test_a_dialect_gives_defaults_and_explicit_keys_win(scenario: dict[str, Any]) -> None:
    scenario["flows"][0]["tcp"] = {"min_rto": "300 ms"}
    results = quell.run(scenario, seeds=1, overrides={"dialect": "ns-2.27", "duration": "6 s"})
    tcp = results.scenario["flows"][0]["tcp"]
    assert (tcp["min_rto"], tcp["initial_rto"]) == ("300 ms", "6 s")
    assert results.scenario["aqm"][1]["spacing"] == "wait"
    with pytest.raises(quell.ScenarioError, match="did you mean"):
        quell.check(scenario, overrides={"dialect": "ns2.27"})


def test_overrides_win_and_sweeps_become_points(scenario: dict[str, Any]) -> None:
    scenario["sweep"] = {"flows.ftp.count": [2, 4]}
    results = quell.run(scenario, seeds=1, overrides={"aqm": [{"algorithm": "red"}], "duration": "6 s"})
    assert [p["settings"] for p in results.points] == [{"flows.ftp.count": "2"}, {"flows.ftp.count": "4"}]
    assert results.algorithms == ["red"]
    assert results.scenario["duration"] == "6 s"
    assert results.table(["utilization"], point=1)["n"] == [1]


def test_a_sweep_has_lists_ranges_links_and_holes(scenario: dict[str, Any]) -> None:
    sweep = {"flows.ftp.count": [0, 2], "aqm.red.max_p": "0.1..0.4:log:3"}
    with pytest.warns(UserWarning, match=r"left out: flows.ftp.count = 0, .* must be at least 1"):
        points = quell.check(scenario, sweep=sweep)
    assert [p["aqm"][1]["max_p"] for p in points] == [0.1, 0.2, 0.4]
    linked = {"linked": [{"flows.ftp.count": [2, 4], "dumbbell.delay": ["5 ms", "2 * 3 ms"]}]}
    results = quell.run(
        scenario, seeds=1, sweep=linked, overrides={"aqm": [{"algorithm": "red"}], "duration": "6 s"}
    )
    assert [p["title"] for p in results.points] == [
        "dumbbell.delay = 5 ms, flows.ftp.count = 2",
        "dumbbell.delay = 6 ms, flows.ftp.count = 4",
    ]
    assert results.holes == []
    results = quell.run(scenario, seeds=1, sweep={"flows.ftp.count": [0, 2]}, overrides={"duration": "6 s"})
    assert [(h["title"], h["settings"]) for h in results.holes] == [
        ("flows.ftp.count = 0", {"flows.ftp.count": "0"})
    ]
    assert "must be at least 1" in results.holes[0]["reason"]
    auto = quell.run(
        scenario,
        seeds="auto",
        precision={"utilization": "50%"},
        max_seeds=4,
        sweep={"flows.ftp.count": [0, 2]},
        overrides={"duration": "6 s"},
    )
    assert auto.holes == results.holes
    with pytest.raises(quell.ScenarioError, match="did you mean"):
        quell.check(scenario, sweep={"flows.fpt.count": [1]})


def test_results_say_what_to_know_of_them_and_what_made_them(
    scenario: dict[str, Any], tmp_path: Path
) -> None:
    results = quell.run(scenario, seeds=1, overrides={"dumbbell.loss": 0.01, "duration": "6 s"})
    assert any("wire_loss_rate" in note for note in results.notes)
    assert re.fullmatch("[0-9a-f]{40}|unknown", results.commit)
    assert list(results.engine) == sorted(results.algorithms)
    results.save(tmp_path / "noted")
    again = quell.read(tmp_path / "noted")
    for one in (results, again):
        assert (one.notes, one.commit, one.engine) == (results.notes, results.commit, results.engine)
        assert one.info["notes"] == results.notes


def test_transfers_have_a_slowdown_and_a_size(scenario: dict[str, Any]) -> None:
    scenario["flows"] = [
        {
            "name": "web",
            "kind": "transfers",
            "count": 3,
            "size": "30 kB",
            "think": "0.2 s",
            "rtt": "50 ms",
            "tcp": {"syn": False},
        }
    ]
    results = quell.run(scenario, seeds=1, overrides={"duration": "6 s"})
    rows = results.transfers
    assert set(rows["size_bytes"]) == {30_000}
    assert min(rows["slowdown"]) > 0.999
    heard = [time for time in rows["flow_acknowledgment_time_s"] if time is not None]
    assert len(heard) > 5
    assert sum(heard) / len(heard) > 0.02 + min(rows["flow_completion_time_s"])
    table = results.table(scope="size:10-100kB")
    assert {"slowdown_p99", "flow_completion_time_p99_s", "transfers"} <= set(table["metric"])
    with pytest.raises(ValueError, match="size:10-100kB"):
        results.table(scope="size:0-10kB")


def test_an_algorithm_that_refuses_a_point_leaves_a_hole(scenario: dict[str, Any]) -> None:
    class Picky(quell.Aqm):
        def __init__(self, link: quell.Link, level: int) -> None:
            if level > 1:
                raise ValueError("level is too high")

    scenario["aqm"] = [{"algorithm": "picky", "level": 1}]
    results = quell.run(
        scenario,
        seeds=1,
        aqms={"picky": Picky},
        sweep={"aqm.picky.level": [2, 1]},
        overrides={"duration": "6 s"},
    )
    assert [p["title"] for p in results.points] == ["aqm.picky.level = 1"]
    assert "level is too high" in results.holes[0]["reason"]


def test_check_gives_the_resolved_scenario_without_running_it(scenario: dict[str, Any]) -> None:
    scenario["duration"] = "1000000 s"
    (resolved,) = quell.check(scenario)
    assert resolved["flows"][0]["tcp"]["packet"]
    assert quell.check(resolved) == [resolved]


def test_progress_is_told_and_ends_at_one(scenario: dict[str, Any]) -> None:
    seen: list[quell.Progress] = []
    main = threading.current_thread()

    def note(progress: quell.Progress) -> None:
        assert threading.current_thread() is main
        seen.append(progress)

    quell.run(scenario, progress=note)
    last = seen[-1]
    assert (last.done, last.finished, last.total) == (1.0, 6, 6)
    assert last.elapsed_s > 0
    assert last.left_s == 0
    assert all(a.done <= b.done for a, b in itertools.pairwise(seen))


def test_an_exception_in_progress_ends_the_run(scenario: dict[str, Any]) -> None:
    class EnoughError(Exception):
        pass

    def stop(_: quell.Progress) -> None:
        raise EnoughError

    scenario["duration"] = "100000 s"
    with pytest.raises(EnoughError):
        quell.run(scenario, progress=stop)


def test_other_threads_run_meanwhile(scenario: dict[str, Any]) -> None:
    ticks = 0
    over = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not over.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    quell.run(scenario, overrides={"duration": "100 s"})
    over.set()
    thread.join()
    assert ticks > 5


@pytest.mark.parametrize(
    ("change", "field", "value", "rule"),
    [
        ({"warmup": "20 s"}, "warmup", '"20 s"', "shorter than duration"),
        ({"duration": 20}, "duration", "20", ""),
        ({"color": "red"}, "color", None, "unknown key"),
        ({"aqm": [{"algorithm": "read"}]}, "aqm[0].algorithm", '"read"', "unknown algorithm"),
        ({"aqm": [{"algorithm": "red", "max_p": 1.5}]}, "aqm[0].max_p", "1.5", "(0, 1]"),
    ],
)
def test_a_wrong_scenario_names_field_value_and_rule(
    scenario: dict[str, Any], change: dict[str, Any], field: str, value: str | None, rule: str
) -> None:
    with pytest.raises(quell.ScenarioError) as info:
        quell.run(scenario | change)
    error = info.value
    assert isinstance(error, ValueError)
    assert (error.field, error.line, error.file) == (field, None, "<dict>")
    if value is not None:
        assert error.value is not None
        assert error.value.strip('"') == value.strip('"')
    assert rule in error.rule
    assert field in str(error)
    assert error.rule in str(error)


def test_a_wrong_file_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(DUMBBELL.read_text().replace('algorithm = "red"', 'algorithm = "rde"'))
    with pytest.raises(quell.ScenarioError, match=r"did you mean \"red\"") as info:
        quell.run(path)
    line = next(i for i, t in enumerate(path.read_text().splitlines(), 1) if "rde" in t)
    assert (info.value.file, info.value.line, info.value.nearest) == (str(path), line, "red")


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.toml"):
        quell.run(tmp_path / "none.toml")
    with pytest.raises(IsADirectoryError):
        quell.run(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"engine": "slow"}, ValueError, "engine"),
        ({"threads": 0}, ValueError, "threads = 0"),
        ({"overrides": {"seeds": 10**30}}, ValueError, "seeds.*64 bits"),
        ({"seeds": 0}, quell.ScenarioError, "seeds"),
        ({"seeds": [1, 1]}, quell.ScenarioError, "twice"),
        ({"seeds": "many"}, quell.ScenarioError, "seeds"),
        ({"overrides": {"no.such": 1}}, quell.ScenarioError, "no"),
        ({"aqms": {"red": object}}, ValueError, "catalog"),
        ({"aqms": {"mine": 3}}, TypeError, "mine"),
    ],
)
def test_wrong_arguments_are_refused(
    scenario: dict[str, Any], arguments: dict[str, Any], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        quell.run(scenario, **arguments)


def test_what_cannot_be_a_scenario_is_a_type_error(scenario: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="path or a dict"):
        quell.run(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="scenario: keys must be strings"):
        quell.run({1: 2})  # type: ignore[dict-item]
    scenario["flows"][0]["count"] = object()
    with pytest.raises(TypeError, match=r"flows\[0\]\.count"):
        quell.run(scenario)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_keeps_what_is_finished(scenario: dict[str, Any]) -> None:
    # The first replications are short, the last would take forever.
    scenario["cases"] = [{"duration": "6 s"}, {"duration": "1000000 s"}]

    def interrupt(progress: quell.Progress) -> None:
        if progress.finished >= 6:
            assert time.monotonic() - began < 60, "Ctrl-C was not heard"
            os.kill(os.getpid(), signal.SIGINT)

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as info:
        quell.run(scenario, progress=interrupt)
    assert time.monotonic() - began < 20
    assert isinstance(info.value, quell.Interrupted)
    kept = info.value.results
    assert kept.partial
    assert len(kept.digests) == 6
    assert kept.table(["utilization"])["n"] == [2, 2, 2]


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).with_name("quell")
    return subprocess.run([command, *arguments], capture_output=True, text=True, timeout=60, check=False)


def test_the_command_is_installed_and_ends_with_its_exit_code(tmp_path: Path) -> None:
    assert quell.__version__ in run_command("--version").stdout
    described = run_command("aqm", "describe", "red")
    assert described.returncode == 0
    assert "min_th" in described.stdout
    path = tmp_path / "wrong.toml"
    path.write_text("schema = 2\n")
    wrong = run_command("scenario", "check", str(path))
    assert wrong.returncode == 2
    assert f"{path}:1" in wrong.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_stops_the_command_and_keeps_what_is_finished(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("quell")
    out = tmp_path / "out"
    lines = DUMBBELL.read_text().replace('duration = "30 s"', 'duration = "1000000 s"')
    (tmp_path / "long.toml").write_text(lines + '\n[[cases]]\nduration = "12 s"\n[[cases]]\nseeds = 3\n')
    long = str(tmp_path / "long.toml")
    run = [str(command), "run", long, "--out", str(out), "--cache", str(tmp_path / "c")]
    with subprocess.Popen(run, stderr=subprocess.PIPE) as process:
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    # The cache has what is finished; files of it are made when they are asked for.
    assert not out.exists()
    subprocess.run([*run, "--finished"], check=True, stderr=subprocess.PIPE, timeout=60)
    kept = quell.read(out)
    assert kept.partial
    assert len(kept.digests) >= 1


def test_algorithms_and_metrics_are_described() -> None:
    names = [a["name"] for a in quell.aqm_list()]
    assert {"drop-tail", "red", "ared", "pi", "rem", "blue", "avq"} <= set(names)
    for name in names:
        for parameter in quell.aqm_describe(name)["parameters"]:
            assert all(parameter[k] for k in ("name", "doc", "unit", "default", "source")), parameter
    with pytest.raises(ValueError, match="drop-tail"):
        quell.aqm_describe("nothing")
    senders = {s["name"]: s["key"] for s in quell.tcp_list()}
    assert {"cubic": "congestion", "rack": "recovery", "hystart++": "slow_start"}.items() <= senders.items()
    bbr = quell.tcp_describe("bbr3")
    assert bbr["refuses"] == ["ecn = true"]
    assert bbr["choices"]
    assert quell.tcp_describe("reno")["key"] == "congestion"
    assert quell.tcp_describe("recovery.reno")["key"] == "recovery"
    (gain,) = (p for p in quell.tcp_describe("ledbat")["parameters"] if p["name"] == "ledbat_gain")
    assert gain["range"] == "above 0, at most 1"
    with pytest.raises(ValueError, match=r"recovery\.reno"):
        quell.tcp_describe("nothing")
    metrics = {m["name"] for m in quell.metric_list()}
    assert metrics <= set(quell.run(make_scenario(duration="6 s"), seeds=1).metrics.column_names)


RATES = [(0.0, 5e6), (5.0, 1e6), (10, 5_000_000), ("15 s", "1 Mbit/s")]


def test_a_link_follows_pairs_and_files(
    scenario: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of pairs, a file by its name, a path: one sample path."""
    monkeypatch.chdir(tmp_path)
    rows = ["0,5e6", "5,1e6", "10,5e6", "15,1e6"]
    Path("rates.csv").write_text("\n".join(["time_s,rate_bps", *rows]), encoding="utf-8")
    looped = {"list": [(0, 5e6), (5, 1e6)], "repeat": "10 s"}
    digests = set()
    for changes in (RATES, "rates.csv", tmp_path / "rates.csv", {"file": "rates.csv"}, looped):
        link = {**scenario["dumbbell"], "changes": changes}
        digests.add(quell.run({**scenario, "dumbbell": link}, seeds=1).digest)
    assert len(digests) == 1
    assert quell.run(scenario, seeds=1).digest not in digests


def test_a_file_of_a_scenario_file_lies_beside_it(
    scenario: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rates.csv").write_text("time_s,rate_bps\n5,1e6\n", encoding="utf-8")
    text = DUMBBELL.read_text(encoding="utf-8").replace("[dumbbell]", '[dumbbell]\nchanges = "rates.csv"', 1)
    (tmp_path / "x.toml").write_text(text, encoding="utf-8")
    (resolved,) = quell.check(tmp_path / "x.toml")
    changes = resolved["dumbbell"]["changes"]
    assert changes["file"] == str(tmp_path / "rates.csv")
    assert len(changes["sha256"]) == 64
    # Of a long path the end is cut, and the temporary folder's may be long.
    monkeypatch.chdir(tmp_path)
    link = {**scenario["dumbbell"], "changes": Path("rates.csv")}
    (tmp_path / "rates.csv").write_text("time_s,rate_bps\n5,1e6\n5,2e6\n", encoding="utf-8")
    with pytest.raises(quell.ScenarioError, match=r"rates\.csv:3: time_s = \"5\": must be later"):
        quell.check({**scenario, "dumbbell": link})
