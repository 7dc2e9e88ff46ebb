"""`warpgym eval`: verdicts, exit statuses, batches, resuming, interruptions."""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
import verdicts
from support import (
    INTERRUPTED,
    PASSED,
    SOME_FAILED,
    SPIN,
    USAGE,
    WARPGYM,
    Warpgym,
    alive,
    children,
    fast,
    kernelbench_module,
    problem_folder,
    read_lines,
    statuses,
    wait_until,
    write,
    write_lines,
    wrong,
)

# --- the verdict ---------------------------------------------------------------------------------


def test_verdict_of_a_passed_candidate_is_complete(warpgym):
    run = warpgym.ok("eval", "--json", "--problem", "softmax", fast("softmax"))
    verdict = run.verdict
    assert verdicts.is_valid(verdict)
    assert verdict["schema"] == 1
    assert verdict["status"] == "passed" and verdict["compiled"] and verdict["correct"]
    assert verdict["problem"]["id"] == "softmax" and verdict["problem"]["format"] == "native"
    assert verdict["candidate"] == verdict["candidate"] | {
        "path": str(fast("softmax")),
        "language": "c",
    }
    assert verdict["correctness"]["trials"] == verdict["correctness"]["passed"] > 0
    assert verdict["correctness"]["first_mismatch"] is None and verdict["error"] is None
    assert verdict["integrity"]["violations"] == []
    timing = verdict["timing"]
    low, high = timing["speedup_interval"]
    assert 0 < low <= timing["speedup"] <= high
    for process in ("candidate", "reference"):
        first, third = timing[process]["quartiles"]
        assert 0 < first <= timing[process]["median"] <= third and timing[process]["n"] >= 3
    assert timing["sizes"] == "rows=256 cols=1024" and timing["dispatch_overhead_us"] > 0
    assert all(kernel["time_us"] > 0 for kernel in verdict["profile"]["kernels"])
    assert all(ms >= 0 for ms in verdict["stages_ms"].values())
    assert verdict["profile"]["memory"]["peak_bytes"] > 0


# Three of five calls wait before they begin, as on a busy machine; by its own clock none does.
HELD_UP = """#include <signal.h>
#include <stddef.h>
#include <time.h>

static void on_thaw(int number)
{
    static int thaws;
    (void)number;
    if (thaws++ % 5 < 3)
        nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
}

void solution(const float *x, float *y, size_t n)
{
    struct sigaction action = {.sa_handler = on_thaw, .sa_flags = SA_RESTART};
    sigaction(SIGCONT, &action, NULL);
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}
"""


def test_times_mean_nothing_beside_an_overhead_that_varies_more(warpgym, tmp_path):
    problem = shutil.copytree(problem_folder("relu"), tmp_path / "relu")
    candidate = shutil.copy(problem / "reference.c", tmp_path / "candidate.c")
    write(problem / "reference.c", HELD_UP)
    timing = warpgym.ok("eval", "--json", "--problem", problem, candidate).verdict["timing"]
    assert not timing["meaningful"] and "too busy" in timing["note"]


def test_verdict_of_a_wrong_candidate_names_the_first_mismatch(warpgym):
    run = warpgym.eval("--problem", "softmax", wrong("softmax"), expect=SOME_FAILED)
    verdict = run.verdict
    assert verdict["status"] == "wrong" and verdict["compiled"] and not verdict["correct"]
    assert verdict["correctness"]["passed"] < verdict["correctness"]["trials"]
    assert verdict["correctness"]["first_mismatch"]["output"] == "y"
    assert verdict["error"]["message"]
    assert verdict["timing"] is None


def test_verdict_of_a_compile_error_shows_the_place(warpgym, tmp_path):
    candidate = write(tmp_path / "broken.c", "void solution(void)\n{\n    return 1 +;\n}\n")
    run = warpgym.eval("--problem", "softmax", candidate, expect=SOME_FAILED)
    verdict = run.verdict
    assert verdict["status"] == "compile_error" and not verdict["compiled"]
    assert verdict["environment"]["sandbox"] == {"layers": [], "missing": []}  # it never ran
    assert "broken.c:3" in verdict["error"]["message"]
    assert "return 1 +;" in verdict["error"]["excerpt"]


def test_a_limit_for_candidates_is_none_for_a_reference(warpgym, tmp_path):
    """The candidate is in the build cache by then, the reference is new."""
    problem = shutil.copytree(problem_folder("relu"), tmp_path / "relu")
    cache = ("-s", f"cache.directory={tmp_path / 'cache'}")
    tight = ("-s", "compile.timeout_ms=1ms")
    candidate = fast("relu")
    warpgym.eval(*cache, "--problem", problem, candidate, expect=PASSED)
    with (problem / "reference.c").open("a") as file:
        file.write("/* as new */\n")
    run = warpgym.eval(*cache, *tight, "--problem", problem, candidate, expect=PASSED)
    assert run.verdict["environment"]["build_cached"]
    other = write(tmp_path / "other.c", candidate.read_text() + "/* as new */\n")
    run = warpgym.eval(*cache, *tight, "--problem", problem, other, expect=SOME_FAILED)
    assert run.verdict["error"]["class"] == "compile_timeout"


RELU = "for (size_t i = 0; i < (size_t)n; i++) y[i] = x[i] > 0 ? x[i] : 0;"


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ("float *x, size_t n", "takes 2 arguments instead of 3: void solution(const float *x, "),
        ("const float *x, double *y, size_t n", "argument 2 of its `solution` is `double *y`"),
        ("const float *x, float *y, float n", "argument 3 of its `solution` is `float n`"),
        ("const float *x, float *y, size_t *p", "argument 3 of its `solution` is `size_t *p`"),
        ("const float *x, /* float */ float *y, int n", None),
        ("float const x[], float *restrict y, unsigned long n", None),
    ],
)
def test_another_signature_is_named_where_it_fails(warpgym, tmp_path, parameters, said):
    text = f"#include <stddef.h>\nvoid solution({parameters})\n{{\n"
    broken = text + "    volatile int *nowhere = NULL;\n    *nowhere = 1;\n}\n"
    run = warpgym.eval(
        "--problem", "relu", write(tmp_path / "broken.c", broken), expect=SOME_FAILED
    )
    message = run.verdict["error"]["message"]
    assert run.verdict["status"] == "runtime_error"
    assert said in message if said else "solution" not in message
    if not said:  # and an honest one is judged by its results
        whole = write(tmp_path / "whole.c", text + f"    {RELU}\n}}\n")
        warpgym.eval("--problem", "relu", whole, expect=PASSED)


def test_verdicts_of_one_text_differ_in_their_id_only_where_time_comes_in(warpgym):
    one = warpgym.eval("--problem", "relu", fast("relu")).verdict
    two = warpgym.eval("--problem", "relu", fast("relu")).verdict
    assert one["id"] != two["id"]
    assert two["environment"]["build_cached"]
    same = ("schema", "problem", "candidate", "device", "status", "compiled", "correct", "error")
    assert {key: one[key] for key in same} == {key: two[key] for key in same}


# --- ways to name what is judged -----------------------------------------------------------------


def test_json_is_one_line_a_verdict(warpgym):
    run = warpgym.eval(
        "--problem", "relu", fast("relu"), wrong("relu"), fast("relu"), expect=SOME_FAILED
    )
    assert run.out.endswith("\n")
    assert statuses(run.verdicts) == ["passed", "wrong", "passed"]


def test_table_without_a_terminal_has_no_escapes(warpgym):
    run = warpgym(
        "eval", "--no-timing", "--problem", "relu", fast("relu"), wrong("relu"), expect=SOME_FAILED
    )
    assert "\x1b" not in run.out + run.err and "\r" not in run.out + run.err
    lines = run.out.splitlines()
    assert lines[0].split()[:3] == ["problem", "candidate", "verdict"]
    assert [line.split()[0] for line in lines[1:3]] == ["relu", "relu"]
    assert "passed" in lines[1] and "wrong" in lines[2]
    assert lines[-1].startswith("1 of 2 passed")


def test_table_shows_no_way_out_of_the_batches_folder(warpgym, tmp_path):
    write(tmp_path / "mine.c", wrong("relu").read_bytes())
    line = {"problem": "relu", "candidate": "../mine.c"}
    batch = write_lines(tmp_path / "batch" / "batch.jsonl", [line])
    run = warpgym("eval", batch, expect=SOME_FAILED)
    assert run.out.splitlines()[1].split()[:3] == ["relu", "mine.c", "wrong"]


def test_quiet_prints_no_progress(warpgym):
    run = warpgym("eval", "-q", "--no-timing", "-p", "relu", fast("relu"), fast("relu"))
    assert run.status == PASSED and run.err == ""


def test_problem_by_directory_file_and_id(warpgym):
    for problem in ("relu", problem_folder("relu"), problem_folder("relu") / "problem.yaml"):
        verdict = warpgym.eval("--problem", problem, fast("relu")).verdict
        assert verdict["status"] == "passed", problem
        assert verdict["problem"]["id"] == "relu"


def test_batch_takes_paths_sources_and_names(warpgym, tmp_path):
    folder = tmp_path / "batch"
    write(folder / "deeper" / "mine.c", fast("relu").read_bytes())
    batch = write_lines(
        folder / "batch.jsonl",
        [
            {"problem": "relu", "candidate": "deeper/mine.c"},
            {"problem": "relu", "candidate": str(wrong("relu"))},
            {"problem": "relu", "source": fast("relu").read_text(encoding="utf-8")},
            {"problem": "relu", "source": "void solution(void) {}", "name": "nothing"},
            {"problem": "own/relu", "candidate": "deeper/mine.c"},
        ],
    )
    shutil.copytree(problem_folder("relu"), folder / "own" / "relu")
    run = warpgym.eval(batch, cwd=tmp_path, expect=SOME_FAILED)
    assert statuses(run.verdicts) == ["passed", "wrong", "passed", "wrong", "passed"]
    paths = [verdict["candidate"]["path"] for verdict in run.verdicts]
    assert paths == [
        str(folder / "deeper" / "mine.c"),
        str(wrong("relu")),
        f"{batch}:3.c",
        "nothing",
        str(folder / "deeper" / "mine.c"),
    ]


def test_batch_may_have_blank_lines_and_no_last_newline(warpgym, tmp_path):
    line = json.dumps({"problem": "relu", "candidate": str(fast("relu"))})
    run = warpgym.eval(write(tmp_path / "b.jsonl", f"\n{line}\r\n   \n{line}"))
    assert run.status == PASSED and len(run.verdicts) == 2


def test_directory_by_header_by_name_and_by_option(warpgym, tmp_path):
    text = fast("relu").read_text(encoding="utf-8")
    folder = tmp_path / "answers"
    write(folder / "said.c", f"// problem: relu\n{text}")
    write(folder / "relu" / "a.c", text)
    write(folder / "notes.txt", "no candidate")
    write(folder / ".hidden.c", "no candidate either")
    run = warpgym.eval(folder, expect=PASSED)
    assert sorted(Path(v["candidate"]["path"]).name for v in run.verdicts) == ["a.c", "said.c"]
    shutil.rmtree(folder / "relu")
    write(folder / "unsaid.c", text)
    assert warpgym.eval("--problem", "relu", folder).status == PASSED
    run = warpgym.eval(folder)
    assert run.status == USAGE and statuses(run.verdicts) == ["passed"]
    assert "unsaid.c: names no problem" in run.err


def test_jobs_judge_everything_once(warpgym, tmp_path):
    names = ["relu", "axpy_inplace", "row_sum", "softmax"]
    batch = write_lines(
        tmp_path / "batch.jsonl",
        [{"problem": n, "candidate": str(path(n))} for path in (fast, wrong) for n in names],
    )
    run = warpgym.eval("--jobs", "2", batch, expect=SOME_FAILED)
    found = {(v["problem"]["id"], v["status"]) for v in run.verdicts}
    assert found == {(name, status) for name in names for status in ("passed", "wrong")}
    assert len(run.verdicts) == 2 * len(names)


def test_kernelbench_checkout(warpgym, tmp_path):
    checkout = tmp_path / "KernelBench"
    square = write(
        checkout / "KernelBench" / "level1" / "1_Square_matrix_multiplication_.py",
        kernelbench_module(),
    )
    write(checkout / "KernelBench" / "level2" / "12_Twice.py", kernelbench_module(2))
    right = write(tmp_path / "right.py", kernelbench_module().replace("Model", "ModelNew"))
    missing = write(tmp_path / "missing.py", "class Model:\n    pass\n")
    batch = write_lines(
        tmp_path / "batch.jsonl",
        [
            {"problem": "level1/1", "candidate": "right.py"},
            {"problem": "level2/12", "candidate": "right.py"},
            {"problem": "level1/1", "candidate": "missing.py"},
            {"problem": str(square), "candidate": "right.py"},
        ],
    )
    run = warpgym.eval("--problems", checkout, batch, expect=SOME_FAILED)
    assert statuses(run.verdicts) == ["passed", "wrong", "load_error", "passed"], run
    assert [v["problem"]["id"] for v in run.verdicts[:2]] == ["level1/1", "level2/12"]
    assert run.verdicts[0]["problem"]["format"] == "torch"
    assert "ModelNew" in run.verdicts[2]["error"]["message"]
    assert missing.exists() and right.exists()


# --- settings ------------------------------------------------------------------------------------


def test_a_first_call_may_tune_itself(warpgym, tmp_path):
    """It has six times as long as any other, or what its setting says. To both the judge adds four
    times what the reference took, so a busy machine needs the distance."""
    problem = write(tmp_path / "square.py", kernelbench_module())
    text = "import time\n" + kernelbench_module().replace("Model", "ModelNew")
    sleeps = "        {} and time.sleep(4)\n        self.seen = True\n        return "

    def judged(where, *settings):
        body = sleeps.format(where)
        path = write(tmp_path / "answer.py", text.replace("        return ", body, 1))
        words = [word for setting in ("run.timeout_ms=1s", *settings) for word in ("-s", setting)]
        return warpgym.eval("--no-timing", *words, "-p", problem, path).verdict["status"]

    tunes = "not hasattr(self, 'seen')"
    assert judged(tunes) == "passed"
    assert judged(tunes, "run.first_call_timeout_ms=1s") == "timeout"
    assert judged("hasattr(self, 'seen')") == "timeout"


def test_set_changes_a_setting(warpgym, tmp_path):
    spin = write(tmp_path / "spin.c", SPIN)
    verdict = warpgym.eval("--set", "run.timeout_ms=300ms", "-p", "softmax", spin).verdict
    assert verdict["status"] == "timeout"


def test_a_speedup_that_says_little_is_marked(warpgym):
    settings = ("--set", "timing.widest=0.0001", "--set", "timing.max_samples=6")
    run = warpgym.ok("eval", "--json", "--problem", "relu", *settings, fast("relu"))
    timing = run.verdict["timing"]
    assert not timing["meaningful"] and "timing.widest" in timing["note"]
    medians = [timing[process]["median"] for process in ("reference", "candidate")]
    assert timing["speedup"] == pytest.approx(medians[0] / medians[1])


def test_a_view_is_no_violation(warpgym, tmp_path):
    """It writes nothing: that its output has 32 MiB makes no floor for its time."""
    text = kernelbench_module().replace("31, 17", "64, 256, 512")
    text = text.replace("1 * x * x + self.weight", "x.flatten(1)")
    problem = write(tmp_path / "view.py", text)
    answer = write(tmp_path / "answer.py", text.replace("Model", "ModelNew"))
    verdict = warpgym.eval("-p", problem, answer, expect=PASSED).verdict
    assert verdict["timing"].get("roofline_fraction") is None, verdict


def test_no_timing_leaves_the_time_out(warpgym):
    timing = warpgym.eval("--problem", "relu", fast("relu")).verdict["timing"]
    assert "speedup" not in timing and timing["note"] == "not asked for"


# --- standard input -------------------------------------------------------------------------------


def through_a_pipe(warpgym, text, *arguments):
    file = write(warpgym.folder / "input", text)
    return warpgym(*arguments, wrapper=["sh", "-c", f'cat {file} | "$@"', "sh"])


def test_a_candidate_on_standard_input(warpgym):
    torch = problem_folder("softmax").parents[1] / "torch" / "tests" / "relu_bias.fast.py"
    for name, file in (("softmax", fast("softmax")), ("torch/relu_bias", torch)):
        words = ("eval", "--json", "--no-timing", "-p", name, "-")
        (verdict,) = through_a_pipe(warpgym, file.read_text(), *words).verdicts
        assert verdict["status"] == "passed", verdict["error"]
        assert verdict["candidate"]["path"] == f"stdin{file.suffix}"


def test_a_batch_on_standard_input(warpgym, tmp_path):
    shutil.copy(fast("softmax"), tmp_path / "answer.c")
    lines = [
        {"problem": "softmax", "candidate": "answer.c"},
        {"problem": "softmax", "source": wrong("softmax").read_text(), "name": "b.c"},
        {"problem": "nothing", "candidate": "answer.c"},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    run = through_a_pipe(warpgym, text, "eval", "--json", "--no-timing", "-")
    assert [verdict["status"] for verdict in run.verdicts] == ["passed", "wrong"]
    assert "standard input:3: " in run.err and "nothing" in run.err
    for words in (["-"], ["-p", "softmax", "-"]):
        assert "standard input: is empty" in through_a_pipe(warpgym, "", "eval", *words).err


# --- --out and resuming --------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--out", "--html"])
def test_what_is_read_is_not_written_over(warpgym, tmp_path, option):
    batch = slow_batch(tmp_path)
    before = batch.read_text()
    (tmp_path / "link").symlink_to(batch)
    files = {
        batch: [batch],
        tmp_path / "link": [batch],
        tmp_path / "candidate.c": ["-p", "relu", write(tmp_path / "candidate.c", "int x;")],
    }
    for output, words in files.items():
        run = warpgym("eval", option, output, *words)
        assert run.status == USAGE and "it is read, and would be written over" in run.err, run
        assert option in run.err and str(output) in run.err
    run = warpgym("report", "--html", batch, batch)
    assert run.status == USAGE and "it is read" in run.err
    assert batch.read_text() == before
    assert (tmp_path / "candidate.c").read_text() == "int x;"


def test_out_is_resumed(warpgym, tmp_path):
    out = tmp_path / "verdicts.jsonl"
    candidate = write(tmp_path / "mine.c", wrong("relu").read_bytes())
    arguments = ("--out", out, "--problem", "relu", candidate, fast("relu"))
    first = warpgym.eval(*arguments, expect=SOME_FAILED)
    assert out.read_text(encoding="utf-8") == first.out
    # Neither a broken line nor one longer than any verdict ends the search.
    text = '{"status": "pass\n"' + "x" * (17 << 20) + '"\n' + first.out
    out.write_text(text, encoding="utf-8")
    again = warpgym("eval", "--json", "--no-timing", *arguments)
    assert again.status == SOME_FAILED and again.out == ""
    assert "2 already judged" in again.err
    assert out.read_text(encoding="utf-8") == text

    out.write_text(first.out, encoding="utf-8")
    write(candidate, fast("relu").read_bytes())
    changed = warpgym.eval(*arguments)
    assert changed.status == PASSED and len(changed.verdicts) == 1
    assert statuses(read_lines(out)) == ["wrong", "passed", "passed"]


def test_out_with_a_cut_off_last_line_is_repaired(warpgym, tmp_path):
    out = tmp_path / "verdicts.jsonl"
    arguments = ("--out", out, "--problem", "relu", wrong("relu"), fast("relu"))
    whole = warpgym.eval(*arguments).out
    out.write_text(whole[: len(whole) - 100], encoding="utf-8")
    run = warpgym.eval(*arguments, expect=SOME_FAILED)
    assert len(run.verdicts) == 1
    assert statuses(read_lines(out)) == ["wrong", "passed"]


def test_out_may_be_a_pipe(warpgym):
    run = warpgym.ok("eval", "-q", "--no-timing", "-o", "/dev/stdout", "-p", "relu", fast("relu"))
    line, rest = run.out.split("\n", 1)
    assert json.loads(line)["status"] == "passed" and rest.startswith("problem")


def slow_batch(folder):
    """Two that are judged, then one that ends only with its limit, then one more."""
    write(folder / "spin.c", SPIN)
    return write_lines(
        folder / "batch.jsonl",
        [
            {"problem": "softmax", "candidate": str(fast("softmax"))},
            {"problem": "softmax", "candidate": str(wrong("softmax"))},
            {"problem": "softmax", "candidate": "spin.c"},
            {"problem": "relu", "candidate": str(fast("relu"))},
        ],
    )


def in_the_middle(warpgym, folder):
    """A run that has written two verdicts and is at the endless candidate."""
    out = folder / "verdicts.jsonl"
    settings = ("--no-timing", "--set", "run.timeout_ms=10m")
    process = warpgym.start("eval", "--json", *settings, "--out", out, slow_batch(folder))

    def spinning():
        return any(child.name == "spinning" for child in children(process.pid))

    wait_until(spinning, "the endless candidate runs")
    return process, out


def test_killed_group_keeps_its_verdicts(warpgym, tmp_path):
    process, out = in_the_middle(warpgym, tmp_path)
    left = [child.pid for child in children(process.pid)]
    os.killpg(process.pid, signal.SIGKILL)
    assert warpgym.finish(process).status == -signal.SIGKILL
    wait_until(lambda: not any(map(alive, left)), "its processes end with it")
    assert statuses(read_lines(out)) == ["passed", "wrong"]
    run = warpgym.eval("--set", "run.timeout_ms=300ms", "--out", out, slow_batch(tmp_path))
    assert statuses(run.verdicts) == ["timeout", "passed"]
    assert statuses(read_lines(out)) == ["passed", "wrong", "timeout", "passed"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interruption_keeps_finished_verdicts(warpgym, tmp_path, number):
    process, out = in_the_middle(warpgym, tmp_path)
    left = [child.pid for child in children(process.pid)]
    os.killpg(process.pid, number)
    run = warpgym.finish(process, expect=INTERRUPTED)
    assert "interrupted; 2 of 4 judged" in run.err
    assert statuses(run.verdicts) == statuses(read_lines(out)) == ["passed", "wrong"]
    assert not any(map(alive, left))


# --- pipes, neighbours, users --------------------------------------------------------------------


def test_closed_standard_output_ends_it_quietly(warpgym, tmp_path):
    batch = write_lines(
        tmp_path / "batch.jsonl", [{"problem": "relu", "candidate": str(fast("relu"))}] * 5
    )
    process = warpgym.start("eval", "--json", "--quiet", "--no-timing", batch)
    line = process.stdout.readline()
    process.stdout.close()
    assert json.loads(line)["status"] == "passed"
    assert process.wait(timeout=300) == PASSED
    assert process.stderr.read() == b""
    process.stderr.close()


def test_two_runs_share_a_new_cache(warpgym, tmp_path):
    cold = {"XDG_CACHE_HOME": str(tmp_path / "new")}
    arguments = ("eval", "--json", "--quiet", "--no-timing", "--problem", "row_sum")
    both = [
        warpgym.start(*arguments, fast("row_sum"), wrong("row_sum"), environment=cold)
        for _ in range(2)
    ]
    for process in both:
        run = warpgym.finish(process)
        assert statuses(run.verdicts) == ["passed", "wrong"], run
    run = warpgym(*arguments, fast("row_sum"), environment=cold)
    assert run.verdict["environment"]["build_cached"]


def seen_by_others(path):
    """Whether another user may come that far."""
    return all(parent.stat().st_mode & 0o001 for parent in [path, *path.parents])


def test_ordinary_user_gets_the_same_verdicts(warpgym):
    if os.geteuid() != 0 or not seen_by_others(WARPGYM):
        pytest.skip("needs root, and a checkout that others may read")
    arguments = ("--problem", "softmax", fast("softmax"), wrong("softmax"))
    with tempfile.TemporaryDirectory() as folder:
        user = Warpgym(folder)
        for path in [user.folder, *user.folder.rglob("*")]:
            os.chown(path, 1000, 1000)
        become = ("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups")
        theirs = user.eval(*arguments, wrapper=become)
        user.check_nothing_left()
    ours = warpgym.eval(*arguments)
    assert theirs.status == ours.status == SOME_FAILED, theirs
    for their, our in zip(theirs.verdicts, ours.verdicts, strict=True):
        for key in ("problem", "candidate", "status", "compiled", "correct"):
            assert their[key] == our[key]
        assert their["environment"]["sandbox"] == our["environment"]["sandbox"]


# --- waiting -------------------------------------------------------------------------------------


def test_a_wait_for_the_device_names_who_has_it(warpgym, tmp_path):
    warpgym.eval("--problem", "relu", fast("relu"), expect=PASSED)  # makes the lock's file
    places = [Path(name) / "cpu.lock" for name in ("/run/lock/warpgym", "/tmp/warpgym-lock")]
    lock = next((place for place in places if place.exists()), None)
    if not lock:
        pytest.skip("the lock of this machine's processor is somewhere else")
    said = tmp_path / "stderr"
    gate = ["flock", lock.with_suffix(".gate"), "cat"]  # one that waits in front of us
    with lock.open() as held, said.open("wb") as errors:
        fcntl.flock(held, fcntl.LOCK_EX)
        with subprocess.Popen(gate, stdin=subprocess.PIPE):
            arguments = ["eval", "--no-timing", "--problem", "relu", fast("relu")]
            process = warpgym.start(*arguments, stderr=errors)
            try:
                wait_until(said.read_text, "a word on the wait", seconds=20)
            finally:  # first: another test may be at the gate, and wait for us
                fcntl.flock(held, fcntl.LOCK_UN)
        warpgym.finish(process, expect=PASSED)
    lines = said.read_text().splitlines()
    assert re.fullmatch(rf"warpgym: waiting for the device: pid {os.getpid()}, \d+ s", lines[0])
