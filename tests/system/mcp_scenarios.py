"""What an agent does, with the official client package; run by test_mcp.py in an interpreter that
has it.

    mcp_scenarios.py SCENARIO:MODE,… TARGET…    TARGET: a URL, or a command

MODE is the client's: auto takes the newest version that both speak, legacy the newest with a
handshake, which is all that the package's first generation knows. What it hands out is an object of
its own for each message; here it is the JSON again.
"""

import asyncio
import contextlib
import json
import os
import sys

import mcp
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

RIGHT = """#include <stddef.h>
void solution(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}
"""
WRONG = RIGHT.replace("x[i] > 0 ? x[i] : 0", "x[i]")


class Agent:
    """Either generation's session: methods by name, their results as they came over the wire."""

    def __init__(self, session):
        self.session = session

    async def ask(self, method, *arguments, **more):
        result = await getattr(self.session, method)(*arguments, **more)
        return result.model_dump(mode="json", by_alias=True)

    async def call(self, tool, arguments, **more):
        return await self.ask("call_tool", tool, arguments, **more)

    async def result(self, tool, arguments):
        result = await self.call(tool, arguments)
        assert not result["isError"], result
        return result["structuredContent"]

    async def take_back(self, call):
        """Cancels the latest request. The first generation's client sends no notification of it."""
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        if not hasattr(mcp, "Client"):
            params = {"requestId": self.session._request_id - 1}
            notification = {"method": "notifications/cancelled", "params": params}
            await self.session.send_notification(
                mcp.types.ClientNotification.model_validate(notification)
            )

    async def fails(self, tool, arguments, part):
        result = await self.call(tool, arguments)
        assert result["isError"] and part in result["content"][0]["text"], result


@contextlib.asynccontextmanager
async def client(mode, target):
    url = target[0] if target[0].startswith("http") else None
    parameters = mcp.StdioServerParameters(
        command=target[0], args=target[1:], env=dict(os.environ), cwd=os.getcwd()
    )
    if hasattr(mcp, "Client"):
        async with mcp.Client(url or stdio_client(parameters), mode=mode) as session:
            yield Agent(session)
        return
    transport = streamable_http_client(url) if url else stdio_client(parameters)
    async with transport as streams, mcp.ClientSession(*streams[:2]) as session:
        await session.initialize()
        yield Agent(session)


async def look(agent):
    tools = (await agent.ask("list_tools"))["tools"]
    wanted = {"list_problems", "read_problem", "submit", "profile", "search_examples", "history"}
    assert {tool["name"] for tool in tools} == wanted
    assert all(tool["inputSchema"] and tool["outputSchema"] for tool in tools)
    reads = {tool["name"] for tool in tools if tool["annotations"]["readOnlyHint"]}
    assert reads == wanted - {"submit"}

    found = await agent.result("list_problems", {"filter": "ReLU", "format": "native"})
    assert "relu" in [row["id"] for row in found["problems"]], found
    page = await agent.result("list_problems", {"limit": 3})
    following = await agent.result("list_problems", {"limit": 3, "from": page["next"]})
    assert len({row["id"] for row in page["problems"] + following["problems"]}) == 6

    problem = await agent.result("read_problem", {"problem": "relu"})
    assert "void solution" in problem["problem"]["reference"] and problem["language"] == "c"
    assert "cpp" in problem["languages"] and problem["task"] and problem["device"]
    await agent.fails("read_problem", {"problem": "rleu"}, "relu")
    await agent.fails("read_problem", {}, "arguments.problem: is missing")
    await agent.fails("search_examples", {"problem": "relu"}, "no index")

    uris = [one["uri"] for one in (await agent.ask("list_resources"))["resources"]]
    assert "warpgym://problems/relu" in uris
    contents = (await agent.ask("read_resource", "warpgym://problems/relu"))["contents"]
    assert json.loads(contents[0]["text"]) == problem
    templates = (await agent.ask("list_resource_templates"))["resourceTemplates"]
    assert [one["uriTemplate"] for one in templates] == ["warpgym://problems/{+id}"]
    prompts = (await agent.ask("list_prompts"))["prompts"]
    assert [one["name"] for one in prompts] == ["solve"]
    prompt = await agent.ask("get_prompt", "solve", {"problem": "relu", "language": "c"})
    (message,) = prompt["messages"]
    assert message["role"] == "user" and message["content"]["text"] == problem["task"]


async def submit(agent, source, **more):
    reported = []

    async def on_progress(progress, total, message):
        reported.append(progress)

    arguments = {"problem": "relu", "source": source} | more
    result = await agent.call("submit", arguments, progress_callback=on_progress)
    assert not result["isError"], result
    assert reported and reported == sorted(set(reported)), reported
    return result["structuredContent"]


async def play(agent, mode):
    """Wrong, then right: the session goes along where the connection has none."""
    relu = {"problem": "relu", "source": RIGHT}
    await agent.fails("submit", relu | {"language": "triton"}, "does not solve native problems")
    await agent.fails("submit", relu | {"session": "0" * 32}, "may have ended")
    wrong = await submit(agent, WRONG)
    assert (wrong["status"], wrong["turn"], wrong["best"]) == ("wrong", 0, None), wrong
    assert wrong["compiled"] and not wrong["correct"] and wrong["feedback"], wrong
    session = {} if mode == "legacy" else {"session": wrong["session"]}
    broken = await submit(agent, "int x", **session)
    assert (broken["status"], broken["turn"]) == ("compile_error", 1), broken
    right = await submit(agent, RIGHT, **session)
    assert (right["status"], right["turn"], right["correct"]) == ("passed", 2, True), right
    assert right["session"] == wrong["session"] and right["episode"] == wrong["episode"]
    assert right["reward"] > 0 and right["best"]["turn"] == 2, right
    if right["speedup"] is None:  # the machine was too busy, as the feedback says
        assert "its speed is not known" in right["feedback"], right
    else:
        assert right["speedup"] > 0, right
    assert right["time_ms"] > 0 and right["reference_ms"] > 0, right

    profile = await agent.result("profile", session)
    assert profile["turn"] == 2 and profile["kernels"][0]["name"], profile
    await agent.fails("profile", session | {"problem": "softmax"}, "nothing has been")
    arguments = session | {"problem": "relu", "source": True, "limit": 2}
    history = await agent.result("history", arguments)
    assert [row["status"] for row in history["turns"]] == ["compile_error", "passed"], history
    assert history["total"] == 3 and history["turns"][1]["source"] == RIGHT.strip(), history
    if mode != "legacy":
        await agent.fails("history", {}, "name the session")


async def whole(mode, target):
    async with client(mode, target) as agent:
        await look(agent)
        await play(agent, mode)


async def cancel(mode, target):
    """A submission that never ends, given up; the next one is judged as if nothing had been."""
    spin = RIGHT.replace("for", "for (volatile int i = 1; i;)\n        ;\n    for", 1)
    async with client(mode, target) as agent:
        first = await submit(agent, WRONG)
        session = {} if mode == "legacy" else {"session": first["session"]}
        begun = asyncio.Event()

        async def on_progress(progress, total, message):
            if message.startswith("judging"):
                begun.set()

        endless = asyncio.create_task(
            agent.call(
                "submit",
                {"problem": "relu", "source": spin} | session,
                progress_callback=on_progress,
            )
        )
        await asyncio.wait_for(begun.wait(), 60)
        await asyncio.sleep(0.2)
        await agent.take_back(endless)
        right = await asyncio.wait_for(submit(agent, RIGHT, **session), 60)
        assert (right["status"], right["turn"]) == ("passed", 1), right


if __name__ == "__main__":
    for name in sys.argv[1].split(","):
        scenario, mode = name.split(":")
        asyncio.run({"whole": whole, "cancel": cancel}[scenario](mode, sys.argv[2:]))
