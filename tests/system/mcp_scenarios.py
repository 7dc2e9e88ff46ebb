"""What an agent does, with the official client package; run by test_mcp.py in an interpreter that
has it.

    mcp_scenarios.py SCENARIO:MODE,… TARGET…    TARGET: a URL, or a command

MODE is the client's: auto takes the newest version that both speak, legacy the newest with a
handshake.
"""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters

RIGHT = """#include <stddef.h>
void solution(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}
"""
WRONG = RIGHT.replace("x[i] > 0 ? x[i] : 0", "x[i]")


def client(mode, target):
    if target[0].startswith("http"):
        return Client(target[0], mode=mode)
    parameters = StdioServerParameters(
        command=target[0], args=target[1:], env=dict(os.environ), cwd=os.getcwd()
    )
    return Client(parameters, mode=mode)


async def failing(call, part):
    result = await call
    assert result.is_error and part in result.content[0].text, result


async def look(agent):
    tools = (await agent.list_tools()).tools
    wanted = {"list_problems", "read_problem", "submit", "profile", "search_examples", "history"}
    assert {tool.name for tool in tools} == wanted
    assert all(tool.input_schema and tool.output_schema and tool.description for tool in tools)
    reads = {tool.name for tool in tools if tool.annotations.read_only_hint}
    assert reads == wanted - {"submit"}

    found = await agent.call_tool("list_problems", {"filter": "ReLU", "format": "native"})
    ids = [row["id"] for row in found.structured_content["problems"]]
    assert ids == ["relu"] or "relu" in ids, found
    page = await agent.call_tool("list_problems", {"limit": 3})
    following = await agent.call_tool(
        "list_problems", {"limit": 3, "from": page.structured_content["next"]}
    )
    rows = page.structured_content["problems"] + following.structured_content["problems"]
    assert len({row["id"] for row in rows}) == 6

    told = (await agent.call_tool("read_problem", {"problem": "relu"})).structured_content
    assert "void solution" in told["problem"]["reference"] and told["language"] == "c"
    assert told["languages"] == ["c", "cuda"] and told["task"] and told["device"]
    await failing(agent.call_tool("read_problem", {"problem": "rleu"}), "relu")
    await failing(agent.call_tool("read_problem", {}), "arguments.problem: is missing")
    await failing(agent.call_tool("search_examples", {"problem": "relu"}), "no index")

    resources = await agent.list_resources()
    uris = [resource.uri for resource in resources.resources]
    assert "warpgym://problems/relu" in uris
    contents = (await agent.read_resource("warpgym://problems/relu")).contents
    assert json.loads(contents[0].text) == told
    templates = (await agent.list_resource_templates()).resource_templates
    assert [one.uri_template for one in templates] == ["warpgym://problems/{+id}"]
    prompts = (await agent.list_prompts()).prompts
    assert [one.name for one in prompts] == ["solve"]
    prompt = await agent.get_prompt("solve", {"problem": "relu", "language": "c"})
    assert prompt.messages[0].role == "user" and prompt.messages[0].content.text == told["task"]


async def submit(agent, source, **more):
    heard = []

    async def hear(progress, total, message):
        heard.append(progress)

    arguments = {"problem": "relu", "source": source} | more
    result = await agent.call_tool("submit", arguments, progress_callback=hear)
    assert not result.is_error, result
    assert heard and heard == sorted(set(heard)), heard
    return result.structured_content


async def play(agent, mode):
    """Wrong, then right: the session goes along where the connection has none."""
    await failing(agent.call_tool("submit", {"problem": "relu", "source": " "}), "source")
    await failing(
        agent.call_tool("submit", {"problem": "relu", "source": "x", "language": "triton"}),
        "does not solve native problems",
    )
    unknown = {"problem": "relu", "source": RIGHT, "session": "0" * 32}
    await failing(agent.call_tool("submit", unknown), "not there")
    wrong = await submit(agent, WRONG)
    assert (wrong["status"], wrong["turn"], wrong["best"]) == ("wrong", 0, None), wrong
    assert wrong["compiled"] and not wrong["correct"] and wrong["feedback"], wrong
    session = {} if mode == "legacy" else {"session": wrong["session"]}
    broken = await submit(agent, "int x", **session)
    assert (broken["status"], broken["turn"]) == ("compile_error", 1), broken
    right = await submit(agent, RIGHT, **session)
    assert (right["status"], right["turn"], right["correct"]) == ("passed", 2, True), right
    assert right["session"] == wrong["session"] and right["episode"] == wrong["episode"]
    assert right["speedup"] > 0 and right["reward"] > 0 and right["best"]["turn"] == 2, right
    assert right["time_ms"] > 0 and right["reference_ms"] > 0, right

    profile = (await agent.call_tool("profile", session)).structured_content
    assert profile["turn"] == 2 and profile["kernels"][0]["name"], profile
    await failing(agent.call_tool("profile", session | {"problem": "softmax"}), "nothing has been")
    arguments = session | {"problem": "relu", "source": True, "limit": 2}
    history = (await agent.call_tool("history", arguments)).structured_content
    assert [row["status"] for row in history["turns"]] == ["compile_error", "passed"], history
    assert history["total"] == 3 and history["turns"][1]["source"] == RIGHT.strip(), history
    if mode != "legacy":
        await failing(agent.call_tool("history", {}), "name the session")


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

        async def hear(progress, total, message):
            if message.startswith("judging"):
                begun.set()

        endless = asyncio.create_task(
            agent.call_tool(
                "submit", {"problem": "relu", "source": spin} | session, progress_callback=hear
            )
        )
        await asyncio.wait_for(begun.wait(), 60)
        await asyncio.sleep(0.2)
        endless.cancel()
        await asyncio.gather(endless, return_exceptions=True)
        right = await asyncio.wait_for(submit(agent, RIGHT, **session), 60)
        assert (right["status"], right["turn"]) == ("passed", 1), right


if __name__ == "__main__":
    for name in sys.argv[1].split(","):
        scenario, mode = name.split(":")
        asyncio.run({"whole": whole, "cancel": cancel}[scenario](mode, sys.argv[2:]))
