#!/usr/bin/env python3
"""Trains a tiny model on a CPU by verl's own parts: README.md.

    python3 examples/verl/train_cpu.py --model models/tiny relu row_sum

verl's workers need a GPU. In their stead are Transformers' `generate` in an actor of Ray, and AdamW
in this process; agent loops, batches, estimators and the policy loss are verl's, and so is the
configuration. Needs a server (`warpgym serve`; --url or WARPGYM_CLIENT_URL) and the packages verl,
hydra-core, transformers, TransferQueue.
"""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

import numpy as np
import ray
import torch
import verl.trainer.config
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from transformers import AutoModelForCausalLM
from verl import DataProto
from verl.experimental.agent_loop import AgentLoopManager
from verl.trainer.ppo.core_algos import get_policy_loss_fn
from verl.trainer.ppo.ray_trainer import compute_advantage
from verl.utils.config import omega_conf_to_dataclass
from verl.utils.torch_functional import logprobs_from_logits
from verl.workers.rollout.llm_server import LLMServerClient
from verl.workers.rollout.replica import TokenOutput
from warpgym.verl_methods import turns_of
from warpgym.verl_trainer import step_settings, train_step

# 1 for a right answer: the speed of a call on a busy CPU would drown it.
REWARD = {"preset": "sparse", "speed_scale": 0}


class TokenServer:
    """In the place of vLLM's: samples from the weights that it was given last."""

    def __init__(self, path, dtype, tokens, seed):
        torch.manual_seed(seed)
        self.model = AutoModelForCausalLM.from_pretrained(path, dtype=dtype).eval()
        self.tokens, self.step, self.lock, self.waiting = tokens, 0, asyncio.Lock(), []

    def load(self, weights, step):
        self.model.load_state_dict(weights)
        self.step = step

    async def generate(self, request_id, prompt_ids, sampling_params, **others):
        """What waits by the time that the model is free is one batch."""
        del request_id, others
        done = asyncio.get_running_loop().create_future()
        self.waiting.append((prompt_ids, done))
        await asyncio.sleep(0.02)
        async with self.lock:
            batch, self.waiting = self.waiting, []
            if batch:
                prompts, futures = zip(*batch, strict=True)
                made = await asyncio.to_thread(self.sample, prompts, sampling_params)
                for future, output in zip(futures, made, strict=True):
                    future.set_result(output)
        return await done

    @torch.no_grad()
    def sample(self, prompts, sampling):
        pad, end = self.model.config.pad_token_id, self.model.config.eos_token_id
        size = max(map(len, prompts))
        ids = torch.tensor([[pad] * (size - len(one)) + one for one in prompts])
        shown = torch.tensor([[0] * (size - len(one)) + [1] * len(one) for one in prompts])
        made = self.model.generate(
            ids,
            attention_mask=shown,
            max_new_tokens=self.tokens,
            do_sample=True,
            temperature=sampling["temperature"],
            top_k=0,
            output_scores=True,
            return_dict_in_generate=True,
        )
        logprobs = self.model.compute_transition_scores(
            made.sequences, made.scores, normalize_logits=True
        )
        outputs = []
        for tokens, own in zip(made.sequences[:, size:].tolist(), logprobs.tolist(), strict=True):
            count = tokens.index(end) + 1 if end in tokens else len(tokens)
            version = {"global_steps": self.step}
            outputs.append(
                TokenOutput(token_ids=tokens[:count], log_probs=own[:count], extra_fields=version)
            )
        return outputs


class Client(LLMServerClient):
    """One server, and no balancing of load."""

    def __init__(self, config, server):
        super().__init__(config)
        self.server = server

    async def _acquire_server(self, request_id, **more):
        return "one", self.server

    def _release_server(self, server_id, request_id=None):
        pass


def configuration(arguments, agent_file):
    """verl's own, as its main_ppo reads it."""
    overrides = [
        "data.train_files=none",
        "data.val_files=none",
        "trainer.n_gpus_per_node=1",
        f"actor_rollout_ref.model.path={Path(arguments.model).resolve()}",
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8",
        "actor_rollout_ref.actor.optim.lr=6e-4",
        "actor_rollout_ref.rollout.name=vllm",  # which is not started
        "actor_rollout_ref.rollout.n=16",
        "actor_rollout_ref.rollout.prompt_length=256",
        "actor_rollout_ref.rollout.response_length=256",
        "actor_rollout_ref.rollout.calculate_log_probs=true",
        "actor_rollout_ref.rollout.agent.num_workers=1",
        "actor_rollout_ref.rollout.agent.default_agent_loop=warpgym",
        f"actor_rollout_ref.rollout.agent.agent_loop_config_path={agent_file}",
        "algorithm.adv_estimator=warpgym_trloo",
        "algorithm.gamma=0.4",
        *arguments.set,
    ]
    folder = str(Path(verl.trainer.config.__file__).parent)
    with initialize_config_dir(folder, version_base=None):
        config = compose("ppo_trainer", overrides)
    OmegaConf.resolve(config)
    return config


def samples(problems, count):
    """Rows as make_dataset.py has them; the agent loop takes its prompt from the gym."""
    chosen = [one for one in problems for _ in range(count)]
    columns = {
        "raw_prompt": [[] for _ in chosen],
        "reward_model": [{"style": "rule", "ground_truth": one} for one in chosen],
        "data_source": ["warpgym"] * len(chosen),
        "uid": chosen,
    }
    arrays = {name: np.empty(len(chosen), dtype=object) for name in columns}
    for name, values in columns.items():
        arrays[name][:] = values
    return DataProto(non_tensor_batch=arrays)


def turn_scores(data):
    """Each turn's reward at its last token. (verl's manager puts their sum at the row's end.)"""
    scores = torch.zeros(data.batch["response_mask"].shape)
    rewards = [[one["reward"] for one in row] for row in data.non_tensor_batch["warpgym_turns"]]
    for row, _, end in turns_of(data.batch["response_mask"].numpy()):
        scores[row, end - 1] = rewards[row].pop(0)
    return scores


def log_probs(model, batch):
    response = batch["responses"]
    logits = model(
        batch["input_ids"],
        attention_mask=batch["attention_mask"],
        position_ids=batch["position_ids"],
        logits_to_keep=response.shape[1] + 1,
    ).logits
    return logprobs_from_logits(logits[:, :-1].contiguous(), response)


def estimate(data, config, step):
    """Advantages, and figures of our rejection. As in verl's trainers, where trainer_mode is ours
    turns are rejected, too."""
    algorithm, batch, rest = config.algorithm, data.batch, data.non_tensor_batch
    if config.trainer.v1.trainer_mode != "warpgym_sync":
        compute_advantage(data, algorithm.adv_estimator, gamma=algorithm.gamma, config=algorithm)
        return {}
    kept, advantages, _, figures = train_step(
        batch["response_mask"],
        batch["token_level_rewards"],
        rest["uid"],
        rest["warpgym_turns"],
        trained=batch["old_log_probs"],
        sampled=batch["rollout_log_probs"],
        **step_settings(algorithm, step),
    )
    batch["response_mask"], batch["advantages"] = kept, advantages
    return figures


def update(model, optimizer, data, actor):
    """A step by verl's policy loss."""
    loss_of = get_policy_loss_fn(actor.policy_loss.loss_mode)
    tokens = data.batch["response_mask"].sum().item()
    if tokens == 0:
        return
    actor.global_batch_info["batch_num_tokens"] = tokens
    optimizer.zero_grad()
    for part in data.split(actor.ppo_micro_batch_size_per_gpu):
        loss, _ = loss_of(
            old_log_prob=part.batch["old_log_probs"],
            log_prob=log_probs(model, part.batch),
            advantages=part.batch["advantages"],
            response_mask=part.batch["response_mask"],
            loss_agg_mode=actor.loss_agg_mode,
            config=actor,
        )
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), actor.optim.clip_grad)
    optimizer.step()


def train(arguments, config):
    actor = omega_conf_to_dataclass(config.actor_rollout_ref.actor)
    dtype = getattr(torch, arguments.sampler)
    given = (arguments.model, dtype, arguments.tokens, arguments.seed)
    server = ray.remote(TokenServer).remote(*given)
    loops = AgentLoopManager.create(config=config, llm_client=Client(config, server))
    model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=actor.optim.lr)
    for step in range(1, arguments.steps + 1):
        begun = time.monotonic()
        rows = samples(arguments.problems, config.actor_rollout_ref.rollout.n)
        data = loops.generate_sequences(rows)
        data.batch["token_level_rewards"] = turn_scores(data)
        with torch.no_grad():
            parts = data.split(actor.ppo_micro_batch_size_per_gpu)
            old = torch.cat([log_probs(model, part.batch) for part in parts])
        data.batch["old_log_probs"] = old
        away = (old - data.batch["rollout_log_probs"])[data.batch["response_mask"].bool()].abs()
        found = estimate(data, config, step)
        update(model, optimizer, data, actor)
        ray.get(server.load.remote(model.state_dict(), step))
        figures = {
            "right": data.non_tensor_batch["acc"].mean(),
            "reward": data.batch["token_level_rewards"].sum(-1).mean().item(),
            "excluded": data.non_tensor_batch["excluded"].mean(),
            "mismatch": away.mean().item(),
            "rejected": found.get("warpgym/drop/mismatch", 0.0),
            "seconds": time.monotonic() - begun,
        }
        print(step, *(f"{key} {value:.2g}" for key, value in figures.items()), flush=True)
    model.save_pretrained(arguments.out)


def main():
    parser = argparse.ArgumentParser(description="Trains a tiny model by verl's parts on a CPU.")
    parser.add_argument("problems", nargs="+", help="ids")
    parser.add_argument("--url", help="of the gym's server")
    parser.add_argument("--model", default="models/tiny")
    parser.add_argument("--language", default="c")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--steps", type=int, default=14)
    parser.add_argument("--tokens", type=int, default=128, help="of an answer, at most")
    parser.add_argument("--sampler", default="float32", help="type of the sampler's weights")
    parser.add_argument("--set", nargs="*", default=[], help="of verl's configuration")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="runs/verl")
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    episode = {"language": arguments.language, "turns": arguments.turns, "reward": REWARD}
    agent = {"name": "warpgym", "_target_": "warpgym.verl_agent.KernelAgentLoop"}
    # Ray's sockets lie in a folder of a short name: the system takes no path beyond 107 bytes.
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder:
        file = Path(folder) / "agent.yaml"
        file.write_text(OmegaConf.to_yaml([agent | {"url": arguments.url, "episode": episode}]))
        ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, _temp_dir=folder)
        try:
            train(arguments, configuration(arguments, file))
        finally:
            ray.shutdown()


if __name__ == "__main__":
    main()
