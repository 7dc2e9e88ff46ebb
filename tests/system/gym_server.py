"""The episodes of docs/guide/gym.md on the server of v1_server.py. It does on demand what a real
server does not: lose connections, be busy, report that an answer could not be judged.

An answer's code is the text between ``` marks. It prescribes its verdict, as it does for the fake
worker (tests/server/fake_worker.c). A correct answer earns a reward of 0.3 plus its speedup.
"""

import json
import re

from v1_server import Handler, Refusal, Server
from vectors import vector

TASK = [
    {"role": "system", "content": "You write kernels."},
    {"role": "user", "content": "Write softmax."},
]


def verdict_of(request):
    source = request["candidate"]["source"]
    named, status = (re.search(rf"{key}=(\w+)", source) for key in ("vector", "status"))
    if named:
        return vector(named[1])["verdict"]
    status = status[1] if status else "passed"
    return {"status": status, "compiled": True, "correct": status == "passed"}


def code_of(answer):
    return answer.split("```")[1] if answer.count("```") >= 2 else None


class GymServer(Server):
    def __init__(self, judge=verdict_of, **options):
        self.handler = GymHandler
        super().__init__(judge, **options)
        self.episodes, self.judged = {}, 0
        self.slow = 0  # so many times a verdict is not there yet

    def create(self, body):
        if body["id"] not in self.episodes:
            problem = body["problem"]
            self.episodes[body["id"]] = {
                "id": body["id"],
                "state": "answering",
                "turn": 0,
                "turns": body.get("turns", 4),
                "problem": {"id": problem.get("id", "inline/x"), "hash": "h"},
                "notes": body.get("notes", {}),
                "messages": list(TASK),
                "given": body,
                "steps": [],
                "answers": [],
            }
        return self.snapshot(self.episodes[body["id"]])

    def step(self, episode, body):
        answers, turn = episode["answers"], body["turn"]
        if turn < len(answers):
            if answers[turn] != body["answer"]:
                raise Refusal(409, f"turn {turn} has another answer")
        elif turn > len(answers) or episode["state"] == "done":
            raise Refusal(409, f"turn {turn} is not open")
        else:
            answers.append(body["answer"])
            episode["state"] = "judging"
        if turn == len(episode["steps"]):
            if self.slow > 0:
                self.slow -= 1
                return 202, self.snapshot(episode)
            self.end_turn(episode, turn, body["answer"])
        return 200, self.snapshot(episode, turn)

    def end_turn(self, episode, turn, answer):
        code, verdict = code_of(answer), None
        if code is not None:
            self.judged += 1
            verdict = self.judge({"problem": episode["problem"], "candidate": {"source": code}})
        verdict = verdict or {"status": "no_code", "compiled": False, "correct": False}
        outcome = {key: verdict.get(key) for key in ("status", "compiled", "correct")}
        speedup = (verdict.get("timing") or {}).get("speedup", 0.0)
        reward = 0.3 + speedup if verdict["correct"] else 0.0
        last = turn + 1 == episode["turns"]
        solved = bool(verdict["correct"])
        step = outcome | {
            "turn": turn,
            "reward": reward,
            "excluded": verdict["status"] == "unsupported",
            "format_ok": code is not None,
            "reward_parts": {"correctness": 0.3 if solved else 0.0, "speed": speedup},
            "terminated": solved and last,
            "truncated": last and not solved,
            "speedup": speedup,
            "feedback": f"It is {verdict['status']}.",
            "verdict": verdict,
        }
        episode["steps"].append(step)
        episode["turn"] = turn + 1
        episode["state"] = "done" if last else "answering"
        episode["messages"] = [
            *episode["messages"],
            {"role": "assistant", "content": answer},
            {"role": "user", "content": step["feedback"]},
        ]

    def snapshot(self, episode, turn=None):
        """As it was when that turn had ended; None: as it is."""
        steps = episode["steps"] if turn is None else episode["steps"][: turn + 1]
        done = len(steps) == episode["turns"]
        made = {key: episode[key] for key in ("id", "turns", "problem", "notes")}
        made["turn"], made["expires_at"] = len(steps), "2030-01-01T00:00:00Z"
        made["state"] = "done" if done else "answering" if turn is not None else episode["state"]
        messages = episode["messages"][: len(TASK) + 2 * len(steps)]
        made["observation"] = None if done else {"messages": messages, "tokens": 12}
        made["step"] = steps[-1] if steps else None
        if done:
            made["returns"], later = [], 0.0
            for step in reversed(steps):
                later = step["reward"] + episode["given"].get("gamma", 0.4) * later
                made["returns"].insert(0, later)
            made["trajectory"] = {"schema": 1, "episode": episode["id"]}
        return made


class GymHandler(Handler):
    def route(self, path, query, body):
        server, name = self.fake, path[1] if len(path) > 1 else None
        if path[0] == "problems":
            ids = [
                {"id": "softmax", "languages": ["c", "cpp", "cuda"]},
                {"id": "relu"},  # as older servers list it
                {"id": "x", "error": "cannot be read"},
            ]
            self.answer(200, {"problems": ids})
        elif path[0] != "episodes":
            super().route(path, query, body)
        elif self.command == "POST" and name is None:
            self.answer(201, server.create(body))
        elif name not in server.episodes:
            raise Refusal(404, f"there is no episode {name}")
        elif path[2:] == ["step"]:
            self.answer(*server.step(server.episodes[name], json.loads(json.dumps(body))))
        elif self.command == "DELETE":
            del server.episodes[name]
            self.answer(200, {"id": name})
        else:
            self.answer(200, server.snapshot(server.episodes[name]))
