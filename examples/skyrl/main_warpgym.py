#!/usr/bin/env python3
"""SkyRL's GRPO with the gym as its environment: an entrypoint of SkyRL, with its options.

    WARPGYM_CLIENT_URL=http://gpu-host:10907 python3 examples/skyrl/main_warpgym.py \\
        data.train_data="['train.parquet']" data.val_data="['test.parquet']" \\
        environment.env_class=warpgym generator.max_turns=4 generator.batched=false …

`GYM` configures the episodes (docs/guide/gym.md). Needs SkyRL and a server (`warpgym serve`).
"""

import sys

import ray
from skyrl.train.config import SkyRLTrainConfig
from skyrl.train.entrypoints.main_base import BasePPOExp, resolve_policy_model_name, validate_cfg
from skyrl.train.utils import initialize_ray

GYM = {"reward": "kevin", "gamma": 0.4, "retry_budget_s": 600.0}


class Experiment(BasePPOExp):
    def get_generator(self, cfg, tokenizer, inference_engine_client):
        from warpgym.skyrl_generator import KernelGenerator  # registers the environment, too

        cfg.environment.skyrl_gym.warpgym = GYM
        return KernelGenerator(
            generator_cfg=cfg.generator,
            skyrl_gym_cfg=cfg.environment.skyrl_gym,
            inference_engine_client=inference_engine_client,
            tokenizer=tokenizer,
            policy_model_name=resolve_policy_model_name(cfg),
        )


@ray.remote(num_cpus=1)
def train(cfg):
    Experiment(cfg).run()


def main():
    cfg = SkyRLTrainConfig.from_cli_overrides(sys.argv[1:])
    validate_cfg(cfg)
    initialize_ray(cfg)
    ray.get(train.remote(cfg))


if __name__ == "__main__":
    main()
