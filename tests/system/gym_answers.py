"""Answers of a model, and what the tests' worker (tests/server/fake_worker.c) makes of them."""

SPEEDUP = 2.01  # of tests/server/vectors/correct.json
KEVIN = 0.3 + SPEEDUP  # its reward
STANDARD = 0.3 + 1.95  # the preset warpgym's: with the lower end of the speedup's interval


def answer(words):
    return f"Here it is.\n```c\n/* {words} */\nvoid solution(void) {{}}\n```\n"


CORRECT = answer("vector=correct")
WRONG = answer("status=wrong")
UNSUPPORTED = answer("status=unsupported")
NO_CODE = "I would rather not."
