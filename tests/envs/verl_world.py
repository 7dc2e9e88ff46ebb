"""verl's agent loops without a GPU: its whole configuration, and a server of tokens behind its
client's interface that writes what a test wants. (examples/verl/train_cpu.py has one that samples.)
"""

import itertools
from pathlib import Path

import ray
import verl.trainer.config
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from transformers import AutoTokenizer
from verl.workers.rollout.llm_server import LLMServerClient
from verl.workers.rollout.replica import TokenOutput

RESPONSE = 400


def configuration(model, agent_file, *overrides):
    """That of verl's main_ppo."""
    ours = [
        f"actor_rollout_ref.model.path={model}",
        "actor_rollout_ref.rollout.name=vllm",
        "actor_rollout_ref.rollout.prompt_length=512",
        f"actor_rollout_ref.rollout.response_length={RESPONSE}",
        "actor_rollout_ref.rollout.calculate_log_probs=true",
        "actor_rollout_ref.rollout.agent.num_workers=1",
        "actor_rollout_ref.rollout.agent.default_agent_loop=warpgym",
        f"actor_rollout_ref.rollout.agent.agent_loop_config_path={agent_file}",
        "data.train_files=none",
        "data.val_files=none",
        "trainer.n_gpus_per_node=1",
        *overrides,
    ]
    folder = str(Path(verl.trainer.config.__file__).parent)
    with initialize_config_dir(folder, version_base=None):
        config = compose("ppo_trainer", ours)
    OmegaConf.resolve(config)
    return config


def agent_file(folder, url, **episode):
    """As examples/verl/agent.yaml has it."""
    path = folder / "agent.yaml"
    made = {"name": "warpgym", "_target_": "warpgym.verl_agent.KernelAgentLoop", "url": url}
    path.write_text(OmegaConf.to_yaml([made | {"episode": episode}]))
    return path


@ray.remote
class TokenServer:
    """`script`: its answers, in turn."""

    def __init__(self, model, script):
        self.tokenizer = AutoTokenizer.from_pretrained(model)
        self.script, self.count = script, itertools.count()

    async def generate(self, request_id, prompt_ids, sampling_params, **ignored):
        del request_id, prompt_ids, ignored
        assert sampling_params["logprobs"]
        text = self.script[next(self.count) % len(self.script)]
        ids = [*self.tokenizer(text)["input_ids"], self.tokenizer.eos_token_id]
        return TokenOutput(
            token_ids=ids,
            log_probs=[-0.5] * len(ids),
            num_preempted=0,
            extra_fields={"global_steps": 0},
        )


class Client(LLMServerClient):
    """One server, and no balancing of load."""

    def __init__(self, config, server):
        super().__init__(config)
        self.server = server

    async def _acquire_server(self, request_id, **extra):
        return "one", self.server

    def _release_server(self, server_id, request_id=None):
        pass
