"""Episodes over HTTP: begin, step, look, end; what is sent twice, by several, across a death."""

import collections
import concurrent.futures
import contextlib
import json
import random
import shutil
import signal
import subprocess
import threading

import pytest
import serving
import support

CODE = "Here it is.\n<KERNEL>\n```c\n/* {words} */ void solution(void) {{}}\n```\n</KERNEL>"
EPISODES = 1000
TURNS = 3


def begin(server, status=201, **more):
    answer = server.post("/v1/episodes", {"problem": {"id": "softmax"}, "language": "c"} | more)
    assert answer.status == status, answer
    return answer.json


def step(server, episode, turn, words="", *, text=None, status=200, **more):
    body = {"turn": turn, "answer": CODE.format(words=words) if text is None else text} | more
    answer = server.post(f"/v1/episodes/{episode}/step", body)
    assert answer.status == status, answer
    return answer.json


def test_whole_episode(server):
    begun = begin(server, turns=4, gamma=0.5, notes={"run": 7}, reward="kevin")
    assert begun["state"] == "answering" and begun["turn"] == 0 and begun["step"] is None
    messages = begun["observation"]["messages"]
    assert "softmax" in "".join(message["content"] for message in messages)
    assert messages[-1]["role"] == "user" and begun["observation"]["tokens"] > 100
    id_ = begun["id"]
    first = step(server, id_, 0, text="no idea")
    assert first["step"]["status"] == "no_code" and first["step"]["reward"] == 0
    second = step(server, id_, 1, "vector=not_compiling")
    assert second["step"]["status"] == "compile_error" and not second["step"]["compiled"]
    assert second["step"]["verdict"]["status"] == "compile_error"
    third = step(server, id_, 2, "vector=correct")
    assert third["step"]["correct"] and third["step"]["speedup"] > 0
    assert third["step"]["reward"] == pytest.approx(0.3 + third["step"]["speedup"])
    assert third["observation"]["messages"] != messages
    last = step(server, id_, 3, "vector=wrong")
    assert last["state"] == "done" and last["end"] == "turns" and last["observation"] is None
    assert last["step"]["truncated"] and not last["step"]["terminated"]
    rewards = [0, 0, third["step"]["reward"], last["step"]["reward"]]
    returns = [sum(0.5 ** (k - i) * rewards[k] for k in range(i, 4)) for i in range(4)]
    assert last["returns"] == pytest.approx(returns)
    assert last["notes"] == {"run": 7}
    trajectory = last["trajectory"]
    assert trajectory["solved"] and trajectory["best_turn"] == 2 and len(trajectory["turns"]) == 4
    assert trajectory["policy"] == "http" and trajectory["problem"] == "softmax"
    assert server.get(f"/v1/episodes/{id_}").json == last


def test_fast_enough_ends_it(server):
    id_ = begin(server, turns=4, stop_speedup=0.1)["id"]
    done = step(server, id_, 0, "vector=correct")
    assert done["end"] == "solved" and done["step"]["terminated"]
    answer = server.post(f"/v1/episodes/{id_}/step", {"turn": 1, "answer": "x"})
    assert answer.status == 409 and "done" in answer.text


def test_sent_again(server):
    id_ = begin(server)["id"]
    first = step(server, id_, 0, "vector=correct")
    assert step(server, id_, 0, "vector=correct") == first
    step(server, id_, 1, "vector=wrong")
    again = step(server, id_, 0, "vector=correct")
    assert again["step"] == first["step"] and again["turn"] == 2
    assert "another answer" in str(step(server, id_, 0, "vector=wrong", status=409))
    assert "at turn 2" in str(step(server, id_, 5, status=409))


def test_begun_again(server):
    first = begin(server, id="mine", turns=3)
    assert begin(server, id="mine", turns=3, status=200) == first
    answer = server.post("/v1/episodes", {"id": "mine", "problem": {"id": "softmax"}, "turns": 2})
    assert answer.status == 409 and "another configuration" in answer.text


def test_an_id_is_used_again(server):
    """A new episode of the same id does not see the verdicts of the first one."""
    for words, status in (("vector=correct", "passed"), ("vector=wrong", "wrong")):
        begin(server, id="again")
        assert step(server, "again", 0, words)["step"]["status"] == status
        assert server.delete("/v1/episodes/again").status == 200


def test_slow_judging(server):
    """Not judged in time: 202, then the same step, or a look, waits for the rest."""
    id_ = begin(server)["id"]
    body = {"turn": 0, "answer": CODE.format(words="delay_ms=1500 vector=correct")}
    answer = server.post(f"/v1/episodes/{id_}/step?wait_s=0", body)
    assert answer.status == 202 and answer.json["state"] == "judging"
    other = {"turn": 0, "answer": "another"}
    assert server.post(f"/v1/episodes/{id_}/step?wait_s=0", other).status == 409
    assert server.get(f"/v1/episodes/{id_}").json["state"] == "judging"
    waiting = server.later("GET", f"/v1/episodes/{id_}?wait_s=30")
    done = server.post(f"/v1/episodes/{id_}/step?wait_s=30", body)
    assert done.status == 200 and done.json["step"]["correct"]
    assert waiting.result(30).json["turn"] == 1
    evaluations = server.get("/v1/evaluations?limit=1000").json["evaluations"]
    assert sum(item["id"].startswith(id_) for item in evaluations) == 1


def test_ended(server):
    id_ = begin(server)["id"]
    body = {"turn": 0, "answer": CODE.format(words="delay_ms=60000")}
    job = server.post(f"/v1/episodes/{id_}/step?wait_s=0", body)
    assert job.json["state"] == "judging"
    assert server.delete(f"/v1/episodes/{id_}").json == {"id": id_, "state": "gone"}
    assert server.get(f"/v1/episodes/{id_}").status == 404
    assert server.delete(f"/v1/episodes/{id_}").status == 404
    listed = server.get("/v1/evaluations?limit=1000").json["evaluations"]
    (name,) = [item["id"] for item in listed if item["id"].startswith(f"{id_}-0-0-")]
    ended = server.get(f"/v1/evaluations/{name}?wait_s=30").json
    assert ended["state"] == "cancelled"


def test_same_id_anew(server):
    """Its turns are judged for themselves, not as those of the episode that had the id before."""
    passed = begin(server, id="mine") and step(server, "mine", 0, "vector=correct")["step"]
    assert server.delete("/v1/episodes/mine").status == 200
    wrong = begin(server, id="mine") and step(server, "mine", 0, "vector=wrong")["step"]
    assert [passed["status"], wrong["status"]] == ["passed", "wrong"]
    assert passed["evaluation"] != wrong["evaluation"]


def test_evaluation_put_beforehand(server):
    """A client that guesses the id of the next turn's evaluation cannot submit it beforehand."""
    begin(server, id="guessed")
    names = ["guessed-0-0"]
    for turn in range(2):
        for name in names:
            put = serving.evaluation("vector=correct", id=name)
            assert server.post("/v1/evaluations?wait_s=30", put).json["outcome"] == "passed"
        result = step(server, "guessed", turn, f"vector=wrong {turn}")["step"]
        assert result["status"] == "wrong"
        names = [result["evaluation"].replace("guessed-0-0", "guessed-1-0"), "guessed-1-0"]


def test_expired(server):
    id_ = begin(server, expires_s=1)["id"]
    support.wait_until(lambda: server.get(f"/v1/episodes/{id_}").status == 404, "its end")
    answer = server.post(f"/v1/episodes/{id_}/step", {"turn": 0, "answer": "x"})
    assert answer.status == 404 and "expire some time after" in answer.text


def test_machine_at_fault(server):
    """A verdict that says nothing of the answer is no turn: it is judged again, then given up."""
    id_ = begin(server)["id"]
    body = {"turn": 0, "answer": CODE.format(words="status=infrastructure_error")}
    support.wait_until(
        lambda: server.post(f"/v1/episodes/{id_}/step", body).json["state"] == "done", "its end"
    )
    done = server.get(f"/v1/episodes/{id_}").json
    assert done["end"] == "error" and done["step"]["excluded"]
    assert done["step"]["evaluation"].startswith(f"{id_}-0-2-")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ([], "object"),
        ({}, "problem"),
        ({"problem": {"id": "softmaxx"}}, "softmax"),
        ({"problem": {"id": "../softmax"}}, "path"),
        ({"problem": {"id": "softmax"}, "turn": 2}, "turns"),
        ({"problem": {"id": "softmax"}, "reward": "kevim"}, "kevin"),
        ({"problem": {"id": "softmax"}, "reward": {"preset": "kevin", "x_weight": 1}}, "weight"),
        ({"problem": {"id": "softmax"}, "id": "a/b"}, "id"),
        ({"problem": {"id": "softmax"}, "id": ".."}, "id"),
        ({"problem": {"id": "softmax"}, "expires_s": 0}, "expires_s"),
        ({"problem": {"id": "softmax"}, "labels": {"policy": "x"}}, "labels"),
        (
            {"problem": {"id": "softmax"}, "evaluation": {"settings": {"python.path": "x"}}},
            "python.path",
        ),
    ],
)
def test_refused(idle, body, says):
    answer = idle.post("/v1/episodes", body)
    assert answer.status == 400 and says in answer.text


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ([], 400, "turn"),
        ({"turn": 0}, 400, "answer"),
        ({"turn": "0", "answer": "x"}, 400, "turn"),
        ({"turn": 0, "answer": "x", "usages": {}}, 400, "usage"),
        ({"turn": -1, "answer": "x"}, 409, "turn"),
    ],
)
def test_refused_step(idle, body, status, says):
    id_ = begin(idle)["id"]
    answer = idle.post(f"/v1/episodes/{id_}/step", body)
    assert answer.status == status and says in answer.text


def test_too_many(warpgym):
    with serving.serving(warpgym, "-s", "server.episodes_max=2", worker=False) as server:
        for _ in range(2):
            begin(server)
        support.wait_until(
            lambda: server.post("/v1/episodes", {"problem": {"id": "softmax"}}).status == 429,
            "a refusal",
        )


@pytest.mark.parametrize(
    "last", ["x" * 4_100_000, CODE.format(words="vector=wrong " + "y" * 1_000_000)], ids=len
)
def test_grown_too_large(server, last):
    """An episode that the queue has no room for, or none for the turn's result, ends with that
    turn, which has a reward; it never asks to be patient."""
    id_ = begin(server, turns=16)["id"]
    for turn, size in enumerate((4_100_000, 4_100_000, 4_100_000, 2_900_000)):
        step(server, id_, turn, text=f"{turn}" + "x" * size)
    done = step(server, id_, 4, text=last)
    assert (done["state"], done["end"], done["turn"]) == ("done", "budget", 5)
    assert done["step"]["turn"] == 4 and done["step"]["status"] == "no_code"
    assert "only its first 4096 bytes" in done["step"]["feedback"]
    assert len(done["trajectory"]["turns"]) == 5
    assert step(server, id_, 4, text=last)["step"] == done["step"]


def test_ended_while_steps_wait(server):
    """Nothing is judged on behalf of an episode that is gone."""
    ids = [begin(server)["id"] for _ in range(8)]
    body = {"turn": 0, "answer": CODE.format(words="delay_ms=60000")}
    steps = [server.later("POST", f"/v1/episodes/{id_}/step", body) for id_ in ids]
    support.wait_until(lambda: server.waiters() >= len(ids), "steps that wait")
    for id_ in ids:
        assert server.delete(f"/v1/episodes/{id_}").status == 200
    assert [waiting.result(30).status for waiting in steps] == [404] * len(ids)
    listed = server.get("/v1/evaluations?limit=1000").json["evaluations"]
    assert not [item["id"] for item in listed if item["state"] in ("queued", "running")]


@contextlib.contextmanager
def stores(kind, folder):
    if kind == "sqlite":
        yield None
        return
    if not shutil.which("redis-server"):
        pytest.skip("there is no redis-server")
    port = str(support.free_port())
    process = subprocess.Popen(
        ["redis-server", "--port", port, "--save", "", "--dir", folder], stdout=subprocess.DEVNULL
    )
    try:
        yield f"redis://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_two_servers_and_rivals(warpgym, tmp_path, kind):
    """Six clients step the same turn at once, with two answers, on two servers: one answer wins,
    its senders get the verdict, and the senders of the other one get a conflict."""
    episodes, rivals, turns = 6, 6, 2
    with contextlib.ExitStack() as stack:
        queue = stack.enter_context(stores(kind, tmp_path))
        servers = [serving.Server(warpgym, queue=queue)]
        stack.callback(servers[0].stop)
        servers.append(serving.Server(warpgym, queue=servers[0].queue))
        stack.callback(servers[1].stop)
        stack.callback(serving.Worker(servers[0].queue).stop)
        for number in range(episodes):
            begin(servers[number % 2], id=f"r{number}", turns=turns)

        def contend(job):
            number, turn, rival = job
            status = ("passed", "wrong")[rival // 2 % 2]
            body = {"turn": turn, "answer": CODE.format(words=f"status={status} r{number} t{turn}")}
            while True:
                answer = servers[rival % 2].post(f"/v1/episodes/r{number}/step", body)
                if answer.status not in (202, 503):
                    return number, status, answer

        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(episodes * rivals))
        for turn in range(turns):
            jobs = [(number, turn, rival) for number in range(episodes) for rival in range(rivals)]
            taken = collections.defaultdict(set)
            for number, status, answer in pool.map(contend, jobs):
                if answer.status == 200:
                    result = answer.json["step"]
                    assert (result["turn"], result["status"]) == (turn, status)
                    taken[number].add(status)
                else:
                    assert answer.status == 409 and "another answer" in answer.text, answer
            assert [len(taken[number]) for number in range(episodes)] == [1] * episodes
        listed = servers[0].get("/v1/evaluations?limit=1000").json["evaluations"]
        assert len(listed) == episodes * turns


class Stub:
    """A policy that answers at once, and sends again whatever got no answer."""

    def __init__(self, restarting):
        self.restarting = restarting

    def ask(self, method, path, body=None):
        while True:
            server = self.restarting.server
            try:
                answer = server.ask(method, path, body)
            except (OSError, serving.http.client.HTTPException):
                self.restarting.up.wait(support.TIMEOUT_S)
                continue
            if answer.status not in (202, 429, 503):
                assert answer.status in (200, 201), answer
                return answer.json

    def begin(self, number):
        body = {"id": f"e{number}", "problem": {"id": "softmax"}, "turns": TURNS}
        return self.ask("POST", "/v1/episodes", body)

    def step(self, number, turn):
        words = ("vector=wrong", "vector=not_compiling", "vector=correct")
        text = CODE.format(words=words[(number + turn) % 3] + f" e{number} t{turn}")
        body = {"turn": turn, "answer": text}
        seen = self.ask("POST", f"/v1/episodes/e{number}/step", body)
        self.restarting.stepped()
        return seen


class RestartingServer:
    """A server that is killed in the middle, and comes back on its port with its queue."""

    def __init__(self, warpgym, kills):
        self.warpgym = warpgym
        self.server = serving.Server(warpgym)
        self.worker = serving.Worker(self.server.queue)
        self.up = threading.Event()
        self.up.set()
        self.steps = 0
        self.kills = sorted(kills)
        self.lock = threading.Lock()

    def stepped(self):
        with self.lock:
            self.steps += 1
            if not self.kills or self.steps < self.kills[0]:
                return
            self.kills.pop(0)
            self.up.clear()
            old = self.server
            old.stop(signal.SIGKILL)
            self.server = serving.Server(self.warpgym, queue=old.queue)
            self.up.set()

    def close(self):
        self.worker.stop()
        self.server.stop()


def test_thousand_episodes_and_a_death(warpgym):
    """No turn lost, none doubled, each with its own answer and verdict."""
    draw = random.Random(5)
    kills = [draw.randrange(200, EPISODES * TURNS - 200) for _ in range(2)]
    restarting = RestartingServer(warpgym, kills)
    try:
        with concurrent.futures.ThreadPoolExecutor(64) as pool:
            stub = Stub(restarting)
            episodes = list(pool.map(stub.begin, range(EPISODES)))
            for turn in range(TURNS):
                assert all(seen["turn"] == turn for seen in episodes)
                numbers = draw.sample(range(EPISODES), EPISODES)
                steps = pool.map(lambda number, turn=turn: stub.step(number, turn), numbers)
                episodes = list(steps)
        assert not restarting.kills
        for seen in episodes:
            number, turns = int(seen["id"][1:]), seen["trajectory"]["turns"]
            assert [turn["turn"] for turn in turns] == list(range(TURNS))
            for turn in turns:
                assert f"e{number} t{turn['turn']} " in turn["answer"]
                assert turn["evaluation"].startswith(f"e{number}-{turn['turn']}-0-")
            statuses = sorted(turn["status"] for turn in turns)
            assert statuses == ["compile_error", "passed", "wrong"]
        evaluations = collections.Counter()
        page = {"before": None}
        while True:
            before = f"&before={page['before']}" if page["before"] else ""
            page = restarting.server.get(f"/v1/evaluations?limit=1000{before}").json
            evaluations.update(item["id"] for item in page["evaluations"])
            if not page["before"]:
                break
        assert len(evaluations) == EPISODES * TURNS and set(evaluations.values()) == {1}
    finally:
        restarting.close()


def test_listed_in_openapi(idle):
    paths = json.loads(idle.get("/openapi.json").text)["paths"]
    assert "post" in paths["/v1/episodes/{id}/step"]
