/* settings: everything that a user may tune, in one table.
 *
 * SETTINGS is the table; the fields of struct settings, the parser, --help and
 * docs/reference/settings.md all come from it. Sources in rising precedence: default, YAML file,
 * environment, `key=value` from the command line. A key that is not in the table is an error with
 * the nearest name offered, in the environment too where a variable is plainly meant for the table
 * (WARPGYM_<section>_…, or nearly a name in it); other WARPGYM_ variables pass, because container
 * platforms invent some. KernelGYM's variables count where they mean the same, below ours; a value
 * that KernelGYM could not have read is some other program's, and passed over.
 *
 * Kinds: STRING as it stands. SECRET likewise, and never shown; URL, not shown where it holds a
 * password. INT, FLOAT. BOOL true/false, yes/no, on/off, 1/0. DURATION in ms, or with a unit
 * (250ms, 10s, 2m, 1h). BYTES, or with a unit (512MiB, 2GiB, 1GB). A section's settings stand
 * together.
 *
 * Ownership: strings live in the struct's arena. Threads: immutable once read; share it freely.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

/* X(field, path, kind, default, low, high, help) */
#define SETTINGS(X)                                                                                \
    X(log_level, "log.level", STRING, "warn", 0, 0,                                                \
      "What is logged on standard error: error, warn, info or debug; also WARPGYM_LOG. Services "  \
      "log info where nobody says otherwise")                                                      \
    X(log_format, "log.format", STRING, "text", 0, 0,                                              \
      "How: text, or json: one object a line. Services log json where nobody says otherwise")      \
    X(cache_directory, "cache.directory", STRING, "", 0, 0,                                        \
      "Where builds and measurements are kept; empty: $XDG_CACHE_HOME/warpgym")                    \
    X(cache_max_bytes, "cache.max_bytes", BYTES, "2GiB", 0, 1ULL << 50,                            \
      "Size at which the oldest cache entries are removed; 0: keep nothing")                       \
    X(compile_timeout_ms, "compile.timeout_ms", DURATION, "30s", 1, 86400000,                      \
      "Longest that one compilation may take")                                                     \
    X(compile_memory_bytes, "compile.memory_bytes", BYTES, "2GiB", 1 << 20, 1ULL << 50,            \
      "Address space of each compiler process")                                                    \
    X(run_timeout_ms, "run.timeout_ms", DURATION, "10s", 1, 86400000,                              \
      "Longest that one call of a candidate may take")                                             \
    X(run_load_timeout_ms, "run.load_timeout_ms", DURATION, "60s", 1, 86400000,                    \
      "Longest that loading a candidate may take, its imports and builds included")                \
    X(run_memory_bytes, "run.memory_bytes", BYTES, "2GiB", 1 << 20, 1ULL << 50,                    \
      "Memory of a candidate beyond its program and three times its arguments: address space, "    \
      "and "                                                                                       \
      "with a GPU what it holds of this machine's")                                                \
    X(run_scratch_bytes, "run.scratch_bytes", BYTES, "256MiB", 0, 1ULL << 50,                      \
      "What a candidate may write to its private scratch directory")                               \
    X(run_threads, "run.threads", INT, "0", 0, 4096,                                               \
      "Threads of a candidate and of its reference; 0: one for each usable CPU")                   \
    X(check_trials, "check.trials", INT, "3", 1, 1000,                                             \
      "Trials of a torch problem, each with fresh inputs")                                         \
    X(timing_target, "timing.target", FLOAT, "0.05", 0.0001, 1,                                    \
      "Sampling stops when half the 95 % interval of the speedup is at most this part of it")      \
    X(timing_budget_ms, "timing.budget_ms", DURATION, "10ms", 1, 3600000,                          \
      "Sampling time after which a wider interval will do: after twice this "                      \
      "long twice the target, and so on; after ten times it stops")                                \
    X(timing_gpu_target, "timing.gpu_target", FLOAT, "0.05", 0.0001, 1,                            \
      "The same on a GPU, where intervals hold many calls and scatter less")                       \
    X(timing_gpu_budget_ms, "timing.gpu_budget_ms", DURATION, "30ms", 1, 3600000,                  \
      "Sampling time on a GPU, as timing.budget_ms")                                               \
    X(timing_min_samples, "timing.min_samples", INT, "6", 1, 100000,                               \
      "Timed pairs taken in any case")                                                             \
    X(timing_max_samples, "timing.max_samples", INT, "400", 1, 100000,                             \
      "Timed pairs after which sampling stops in any case")                                        \
    X(gpu_devices, "gpu.devices", STRING, "all", 0, 0,                                             \
      "Which of the visible GPUs are judged on: all, or a list of ordinals and UUIDs (0,2)")       \
    X(gpu_quarantine_ms, "gpu.quarantine_ms", DURATION, "1m", 1, 86400000,                         \
      "How long a GPU that failed gets no work; then it is tried, and after twice this long "      \
      "again")                                                                                     \
    X(gpu_driver, "gpu.driver", STRING, "", 0, 0,                                                  \
      "Library of the NVIDIA driver; empty: libcuda.so.1")                                         \
    X(gpu_processes, "gpu.processes", INT, "4", 0, 64,                                             \
      "Processes with a context on the GPU that stand ready; each takes about 0.6 GB of its "      \
      "memory")                                                                                    \
    X(gpu_at_once, "gpu.at_once", INT, "4", 1, 64,                                                 \
      "Evaluations that are on a GPU at a time; the others wait with their builds done")           \
    X(gpu_queues, "gpu.queues", INT, "4", 1, 32,                                                   \
      "Streams whose kernels run side by side in a context (CUDA_DEVICE_MAX_CONNECTIONS); each "   \
      "takes 5 ms to make")                                                                        \
    X(gpu_nvml, "gpu.nvml", STRING, "", 0, 0,                                                      \
      "NVIDIA's management library, for clocks and health; empty: libnvidia-ml.so.1")              \
    X(gpu_nvrtc, "gpu.nvrtc", STRING, "", 0, 0,                                                    \
      "Library that compiles device-only kernels; empty: libnvrtc of a CUDA toolkit or of "        \
      "Python's packages")                                                                         \
    X(torch_device, "torch.device", STRING, "auto", 0, 0,                                          \
      "Where torch problems run: cpu, cuda, or auto: on a GPU where there is one")                 \
    X(torch_precision, "torch.precision", STRING, "", 0, 0,                                        \
      "Type of a torch problem's floating inputs and weights: fp32, fp16 or bf16; empty: its own") \
    X(torch_compile, "torch.compile", STRING, "", 0, 0,                                            \
      "Mode of torch.compile for references: default, reduce-overhead, max-autotune, "             \
      "max-autotune-no-cudagraphs; empty: eager")                                                  \
    X(python_path, "python.path", STRING, "", 0, 0,                                                \
      "Python with PyTorch, for torch problems; empty: $WARPGYM_PYTHON, then .venv/bin/python3")   \
    X(queue_url, "queue.url", URL, "", 0, 0,                                                       \
      "Where jobs are kept: sqlite:PATH, or redis://[user:password@]host[:port][/db]; empty: "     \
      "sqlite:$XDG_STATE_HOME/warpgym/queue.db")                                                   \
    X(queue_lease_ms, "queue.lease_ms", DURATION, "60s", 100, 3600000,                             \
      "How long a worker may be silent before its jobs are given to another")                      \
    X(queue_attempts, "queue.attempts", INT, "3", 1, 100,                                          \
      "Attempts after which a job that no worker brings to an end ends as infrastructure_error")   \
    X(queue_keep_ms, "queue.keep_ms", DURATION, "168h", 0, 31536000000,                            \
      "How long ended jobs are kept; 0: no bound")                                                 \
    X(queue_keep_jobs, "queue.keep_jobs", INT, "100000", 0, 1000000000,                            \
      "How many ended jobs are kept, the newest; 0: no bound")                                     \
    X(queue_keep_bytes, "queue.keep_bytes", BYTES, "4GiB", 0, 1ULL << 50,                          \
      "Payloads and results of ended jobs that are kept, the newest; 0: no bound")                 \
    X(worker_slots, "worker.slots", INT, "0", 0, 1024,                                             \
      "Jobs that a worker has at a time; 0: 16 for each GPU, or one for each CPU")                 \
    X(worker_heartbeat_ms, "worker.heartbeat_ms", DURATION, "5s", 100, 1200000,                    \
      "How often a worker says that it lives; after three times this long nobody believes it")     \
    X(worker_drain_ms, "worker.drain_ms", DURATION, "30s", 0, 86400000,                            \
      "How long a worker that is to stop waits for its jobs before it hands them back")            \
    X(worker_listen, "worker.listen", STRING, "", 0, 0,                                            \
      "Address and port for the /metrics and /health of `warpgym worker`; empty: none")            \
    X(languages_path, "languages.path", STRING, "", 0, 0,                                          \
      "Directories of languages from outside (docs/guide/extending.md), separated by colons")      \
    X(gym_language, "gym.language", STRING, "", 0, 0,                                              \
      "What answers are to be written in: c, cuda, triton, torch-cuda, python; empty: c for "      \
      "native problems, triton for torch ones")                                                    \
    X(gym_turns, "gym.turns", INT, "4", 1, 256, "Answers in an episode, at most")                  \
    X(gym_gamma, "gym.gamma", FLOAT, "0.4", 0, 1,                                                  \
      "Discount of the rewards of later turns in a turn's return")                                 \
    X(gym_reward, "gym.reward", STRING, "kevin", 0, 0,                                             \
      "Preset of rewards (docs/reference/rewards.md): kevin, drkernel, staged1, ...")              \
    X(gym_coverage, "gym.coverage", STRING, "time", 0, 0,                                          \
      "What the share of own kernels is of, in rewards and train.coverage: time, kernels, "        \
      "named_time, named_kernels (docs/reference/rewards.md)")                                     \
    X(gym_stop_speedup, "gym.stop_speedup", FLOAT, "0", 0, 1e9,                                    \
      "An episode ends with a correct answer that is this many times as fast as the reference; "   \
      "0: only when its turns are over")                                                           \
    X(gym_style, "gym.style", STRING, "warpgym", 0, 0,                                             \
      "Style of prompts (docs/reference/prompts.md): warpgym, kevin, drkernel, or a directory of " \
      "prompts.path")                                                                              \
    X(gym_shots, "gym.shots", INT, "1", 0, 3, "Worked examples in a prompt")                       \
    X(gym_thinking, "gym.thinking", BOOL, "false", 0, 0,                                           \
      "Whether prompts ask for a block of thinking before the code")                               \
    X(gym_token_budget, "gym.token_budget", INT, "24576", 0, 10000000,                             \
      "Estimated tokens of a conversation; above it the oldest turns are left out; 0: no bound")   \
    X(gym_retrieve, "gym.retrieve", INT, "0", 0, 16,                                               \
      "Retrieved examples in a prompt (retrieval.directory)")                                      \
    X(gym_iterations, "gym.iterations", INT, "1", 1, 256,                                          \
      "Test-time scaling: how often an episode goes on with a window of its history")              \
    X(gym_remain_turns, "gym.remain_turns", INT, "2", 0, 255,                                      \
      "Turns of its history that each further iteration keeps")                                    \
    X(gym_select, "gym.select", STRING, "last", 0, 0,                                              \
      "Which turns those are: last, best (the contiguous ones with the highest sum), top")         \
    X(gym_select_by, "gym.select_by", STRING, "reward", 0, 0,                                      \
      "What best and top go by: reward, speedup, coverage")                                        \
    X(train_learner, "train.learner", STRING, "engine", 0, 0,                                      \
      "Who is trained: engine (a model in this process), or tinker (a Tinker service, or SkyRL's " \
      "server)")                                                                                   \
    X(train_model, "train.model", STRING, "", 0, 0,                                                \
      "What is trained: a model's directory (engine), or the base model's name (tinker)")          \
    X(train_tokenizer, "train.tokenizer", STRING, "", 0, 0,                                        \
      "Directory of the tokenizer; empty: the model's")                                            \
    X(train_url, "train.url", URL, "", 0, 0,                                                       \
      "Address of the Tinker service; empty: TINKER_BASE_URL")                                     \
    X(train_lora_rank, "train.lora_rank", INT, "32", 0, 4096,                                      \
      "Rank of the adapter that is trained; 0: all parameters (engine alone)")                     \
    X(train_lora_alpha, "train.lora_alpha", FLOAT, "0", 0, 1000000,                                \
      "The adapter's scale times its rank; 0: twice the rank")                                     \
    X(train_context, "train.context", INT, "0", 0, 16777216,                                       \
      "Tokens of a prompt and its answer together; 0: as many as the model has positions")         \
    X(train_batch_tokens, "train.batch_tokens", INT, "0", 0, 16777216,                             \
      "Tokens of one training pass of the engine; 0: as many as the context")                      \
    X(train_recompute, "train.recompute", BOOL, "true", 0, 0,                                      \
      "Whether the engine computes layers again on the way back, which takes a third more time "   \
      "and far less memory")                                                                       \
    X(train_backend, "train.backend", STRING, "cpu", 0, 0,                                         \
      "What the engine computes with: cpu, reference")                                             \
    X(train_threads, "train.threads", INT, "0", 0, 4096,                                           \
      "Threads of the engine; 0: one for each CPU. Sums depend on it in their last bits")          \
    X(train_problems, "train.problems", STRING, "", 0, 0,                                          \
      "Problems to train on, separated by blanks: ids, suites (native, level1), all, @FILE")       \
    X(train_held_out, "train.held_out", STRING, "", 0, 0,                                          \
      "Problems to evaluate on, likewise; they are taken out of the others")                       \
    X(train_held_out_share, "train.held_out_share", FLOAT, "0", 0, 0.9,                            \
      "Share of train.problems that is set aside for evaluation, drawn by train.seed")             \
    X(train_timing, "train.timing", BOOL, "true", 0, 0,                                            \
      "Whether candidates are timed; without, correctness alone counts")                           \
    X(train_steps, "train.steps", INT, "100", 0, 100000000,                                        \
      "Steps of reinforcement learning; 0: fine-tuning alone")                                     \
    X(train_prompts, "train.prompts", INT, "8", 1, 65536, "Problems of a step")                    \
    X(train_samples, "train.samples", INT, "8", 1, 65536, "Episodes of each problem")              \
    X(train_rounds, "train.rounds", INT, "1", 1, 1000,                                             \
      "Dynamic sampling: rounds in which a step draws problems in the place of those that teach "  \
      "nothing; 1: none")                                                                          \
    X(train_round_whole, "train.round_whole", BOOL, "false", 0, 0,                                 \
      "Whether each round draws train.prompts again, as Dr. Kernel's code does, and not just "     \
      "what is missing")                                                                           \
    X(train_jobs, "train.jobs", INT, "32", 1, 4096, "Episodes at the same time")                   \
    X(train_lag, "train.lag", INT, "0", 0, 1,                                                      \
      "Steps that are played ahead while one is trained, but for those behind a checkpoint or an " \
      "evaluation; 0: none")                                                                       \
    X(train_seed, "train.seed", INT, "0", 0, 9007199254740992,                                     \
      "Of the order of problems, of all answers and draws")                                        \
    X(train_max_tokens, "train.max_tokens", INT, "4096", 0, 16777216,                              \
      "Tokens of one answer at most; 0: as many as the context leaves")                            \
    X(train_temperature, "train.temperature", FLOAT, "1", 0, 10, "Of answers that are trained on") \
    X(train_top_p, "train.top_p", FLOAT, "1", 0.0001, 1,                                           \
      "Share of probability that they are drawn from")                                             \
    X(train_top_k, "train.top_k", INT, "0", 0, 16777216,                                           \
      "So many of the likeliest tokens; 0: all")                                                   \
    X(train_thinking, "train.thinking", BOOL, "false", 0, 0,                                       \
      "Whether Qwen3's template leaves its thinking on")                                           \
    X(train_method, "train.method", STRING, "trloo", 0, 0,                                         \
      "Preset of all that follows up to train.lone (docs/reference/methods.md): trloo, grpo, "     \
      "drkernel, "                                                                                 \
      "kevin, drkernel_original, kernel_rl_original")                                              \
    X(train_estimator, "train.estimator", STRING, "", 0, 0, "Of advantages; empty: the method's")  \
    X(train_returns, "train.returns", STRING, "", 0, 0,                                            \
      "Rule of returns: sum, max, final, turn, kernel_rl; empty: the method's")                    \
    X(train_gamma, "train.gamma", FLOAT, "-1", -1, 1,                                              \
      "Discount of later turns' rewards; -1: the method's. gym.gamma counts for nothing here")     \
    X(train_shaping, "train.shaping", STRING, "", 0, 0,                                            \
      "none, residual, residual_unbiased; empty: the method's")                                    \
    X(train_void_turns, "train.void_turns", STRING, "", 0, 0,                                      \
      "A turn without reward behind one that had some: keep, mask; empty: the method's")           \
    X(train_failed_turns, "train.failed_turns", STRING, "", 0, 0,                                  \
      "Turns of an episode in which another could not be judged: keep, mask; empty: the method's") \
    X(train_unjudged, "train.unjudged", STRING, "", 0, 0,                                          \
      "A turn that could not be judged: leave (it is as if it were not there), zero (its "         \
      "reward is 0); empty: the method's")                                                         \
    X(train_band, "train.band", STRING, "", 0, 0,                                                  \
      "Level at which mismatch is rejected: none, token, turn, turn_geo, sequence, geometric; "    \
      "empty: the method's")                                                                       \
    X(train_band_lower, "train.band_lower", FLOAT, "-1", -1, 1,                                    \
      "Least ratio; 0: 1 / train.band_upper; -1: the method's")                                    \
    X(train_band_upper, "train.band_upper", FLOAT, "-1", -1, 1000000,                              \
      "Greatest ratio; -1: the method's")                                                          \
    X(train_veto, "train.veto", FLOAT, "-1", -1, 1,                                                \
      "A token's ratio below which its turn is rejected; 0: none; -1: the method's")               \
    X(train_veto_unit, "train.veto_unit", STRING, "", 0, 0,                                        \
      "What such a token rejects: turn, rollout; empty: the method's")                             \
    X(train_coverage, "train.coverage", STRING, "", 0, 0,                                          \
      "Rejection of lazy kernels: off, turn, rollout; empty: the method's")                        \
    X(train_coverage_threshold, "train.coverage_threshold", FLOAT, "-1", -1, 1,                    \
      "Share of own kernels (gym.coverage) below which a turn is rejected; -1: the method's")      \
    X(train_coverage_factor, "train.coverage_factor", FLOAT, "-1", -1, 1,                          \
      "Width above it within which chance decides; -1: the method's")                              \
    X(train_coverage_turns, "train.coverage_turns", STRING, "", 0, 0,                              \
      "Which turns are looked at: correct, every; empty: the method's")                            \
    X(train_coverage_unknown, "train.coverage_unknown", STRING, "", 0, 0,                          \
      "A turn whose share is not known: keep, zero (as if it were 0); empty: the method's")        \
    X(train_coverage_speedup, "train.coverage_speedup", FLOAT, "-1", -1, 1000000,                  \
      "Speedup from which on no turn is lazy; 0: none; -1: the method's")                          \
    X(train_coverage_rewards, "train.coverage_rewards", STRING, "", 0, 0,                          \
      "Rewards of rejected lazy turns, in the returns of those before: drop, pay; empty: the "     \
      "method's")                                                                                  \
    X(train_rejected_turns, "train.rejected_turns", STRING, "", 0, 0,                              \
      "Turns rejected for mismatch or coverage, in the groups that others are compared with: "     \
      "leave, stay; empty: the method's")                                                          \
    X(train_filter, "train.filter", STRING, "", 0, 0,                                              \
      "When a problem teaches nothing: turns, last_turn, none; empty: the method's")               \
    X(train_filter_deviation, "train.filter_deviation", FLOAT, "-1", -1, 1000000,                  \
      "Deviation below which its values are alike; -1: the method's")                              \
    X(train_filter_values, "train.filter_values", STRING, "", 0, 0,                                \
      "What those values are: returns, rewards; empty: the method's")                              \
    X(train_filter_rollouts, "train.filter_rollouts", INT, "-1", -1, 65536,                        \
      "Usable episodes that it needs; -1: the method's")                                           \
    X(train_importance, "train.importance", STRING, "", 0, 0,                                      \
      "Importance weights: none, token, turn, sequence; empty: the method's")                      \
    X(train_importance_upper, "train.importance_upper", FLOAT, "-1", -1, 1000000,                  \
      "Their bound; 0: none; -1: the method's")                                                    \
    X(train_aggregation, "train.aggregation", STRING, "", 0, 0,                                    \
      "How the loss is normalised: token-mean, seq-mean-token-sum, seq-mean-token-mean, "          \
      "seq-mean-token-sum-norm, seq-sum-no-norm; empty: the method's")                             \
    X(train_scale, "train.scale", FLOAT, "-1", -1, 1000000000,                                     \
      "What the loss is divided by besides; -1: the method's")                                     \
    X(train_nominal_rows, "train.nominal_rows", INT, "-1", -1, 1000000000,                         \
      "Turns that a step stands for; 0: as many as count; -1: the method's")                       \
    X(train_pad_rows, "train.pad_rows", INT, "-1", -1, 1000000000,                                 \
      "Turns are made a multiple of this by counting the first twice; 0: they are not; -1: "       \
      "the method's")                                                                              \
    X(train_nominal_tokens, "train.nominal_tokens", INT, "-1", -1, 16777216,                       \
      "Tokens that a turn stands for; 0: those of the longest; -1: the method's")                  \
    X(train_lone, "train.lone", STRING, "", 0, 0,                                                  \
      "Advantage of who is alone in its group: return, zero; empty: the method's")                 \
    X(train_loss, "train.loss", STRING, "importance_sampling", 0, 0,                               \
      "Of the policy: importance_sampling, ppo, cispo, dro")                                       \
    X(train_ratio, "train.ratio", STRING, "sampled", 0, 0,                                         \
      "What the loss's ratio is against: sampled (the sampler's log-probabilities), trained (the " \
      "trainer's, before the step)")                                                               \
    X(train_rescore, "train.rescore", BOOL, "true", 0, 0,                                          \
      "Whether the trainer's log-probabilities are computed before each step; without, they "      \
      "count as the sampler's and no mismatch is seen")                                            \
    X(train_clip_low, "train.clip_low", FLOAT, "-1", -1, 1,                                        \
      "Lower bound of the ratio (ppo, cispo); -1: the loss's own")                                 \
    X(train_clip_high, "train.clip_high", FLOAT, "-1", -1, 1000000,                                \
      "Upper bound; -1: the loss's own")                                                           \
    X(train_dual_clip, "train.dual_clip", FLOAT, "0", 0, 1000000,                                  \
      "Bound of ppo's ratio where an advantage is negative; 0: none; engine alone")                \
    X(train_dro_beta, "train.dro_beta", FLOAT, "-1", -1, 1000000,                                  \
      "Weight of dro's squared ratio; -1: the loss's own")                                         \
    X(train_entropy, "train.entropy", FLOAT, "0", 0, 1000000,                                      \
      "Weight of a bonus for the entropy of answers, averaged as the loss is; engine alone")       \
    X(train_kl, "train.kl", FLOAT, "0", 0, 1000000,                                                \
      "Weight of a penalty for leaving the model that the run began with; above 0 that model is "  \
      "held, too")                                                                                 \
    X(train_kl_discount, "train.kl_discount", FLOAT, "0", 0, 1,                                    \
      "Discount of later tokens' penalty in a token's; 0: its own alone")                          \
    X(train_rate, "train.rate", FLOAT, "0.00001", 0, 1, "Learning rate")                           \
    X(train_beta1, "train.beta1", FLOAT, "0.9", 0, 0.999999, "AdamW's")                            \
    X(train_beta2, "train.beta2", FLOAT, "0.95", 0, 0.999999, "AdamW's")                           \
    X(train_epsilon, "train.epsilon", FLOAT, "0.00000001", 0, 1, "AdamW's")                        \
    X(train_decay, "train.decay", FLOAT, "0", 0, 1, "AdamW's weight decay")                        \
    X(train_clip, "train.clip", FLOAT, "1", 0, 1000000, "Bound of the gradients' norm; 0: none")   \
    X(train_schedule, "train.schedule", STRING, "constant", 0, 0,                                  \
      "Of the learning rate: constant, linear, cosine")                                            \
    X(train_warmup, "train.warmup", INT, "0", 0, 100000000, "Steps in which it rises")             \
    X(train_floor, "train.floor", FLOAT, "0", 0, 1, "Part of it that the schedule ends with")      \
    X(train_substeps, "train.substeps", INT, "1", 1, 4096,                                         \
      "Changes of the weights that a step's turns are shared out to")                              \
    X(train_sft_data, "train.sft_data", STRING, "", 0, 0,                                          \
      "JSONL files to fine-tune on first, separated by colons (docs/guide/lm.md); empty: none")    \
    X(train_sft_epochs, "train.sft_epochs", INT, "1", 1, 100000, "Epochs of that")                 \
    X(train_sft_tokens, "train.sft_tokens", INT, "8192", 1, 16777216,                              \
      "Tokens of one of its steps")                                                                \
    X(train_sft_max_tokens, "train.sft_max_tokens", INT, "2048", 1, 16777216,                      \
      "Tokens of one example; the rest is cut off")                                                \
    X(train_sft_rate, "train.sft_rate", FLOAT, "0.00001", 0, 1, "Its learning rate")               \
    X(train_sft_beta2, "train.sft_beta2", FLOAT, "-1", -1, 0.999999,                               \
      "AdamW's second there; -1: train.beta2")                                                     \
    X(train_sft_schedule, "train.sft_schedule", STRING, "cosine", 0, 0,                            \
      "constant, linear, cosine")                                                                  \
    X(train_sft_warmup, "train.sft_warmup", INT, "0", 0, 100000000, "Steps in which it rises")     \
    X(train_sft_floor, "train.sft_floor", FLOAT, "0.1", 0, 1,                                      \
      "Part of it that the schedule ends with")                                                    \
    X(train_evaluate_every, "train.evaluate_every", INT, "10", 0, 100000000,                       \
      "Steps between evaluations; there is one before the first step and one at the end, too; 0: " \
      "none at all")                                                                               \
    X(train_evaluate_samples, "train.evaluate_samples", INT, "1", 1, 65536,                        \
      "Episodes of each held-out problem")                                                         \
    X(train_evaluate_temperature, "train.evaluate_temperature", FLOAT, "0", 0, 10,                 \
      "Of their answers; 0: the likeliest")                                                        \
    X(train_evaluate_top_p, "train.evaluate_top_p", FLOAT, "1", 0.0001, 1,                         \
      "Share of probability that they are drawn from")                                             \
    X(train_measure, "train.measure", STRING, "correct", 0, 0,                                     \
      "What the best checkpoint and train.patience go by: correct, fast_1, return")                \
    X(train_patience, "train.patience", INT, "0", 0, 100000,                                       \
      "Evaluations without a better one after which training ends; 0: never")                      \
    X(train_save_every, "train.save_every", INT, "10", 1, 100000000, "Steps between checkpoints")  \
    X(train_keep, "train.keep", INT, "2", 1, 100000,                                               \
      "Checkpoints that are kept, beside the best one")                                            \
    X(train_text_every, "train.text_every", INT, "10", 0, 100000000,                               \
      "Steps between a few answers as text for TensorBoard; those of evaluations are told, too; "  \
      "0: none at all")                                                                            \
    X(train_guard_skips, "train.guard_skips", INT, "3", 1, 1000,                                   \
      "Steps in a row whose loss or gradient is not finite, after which training ends")            \
    X(train_guard_norm, "train.guard_norm", FLOAT, "0", 0, 1000000000000,                          \
      "Gradient norm above which it ends; 0: none")                                                \
    X(train_guard_kl, "train.guard_kl", FLOAT, "0", 0, 1000000,                                    \
      "Mismatch of sampler and trainer (k3) above which it ends; 0: none")                         \
    X(train_wait_ms, "train.wait_ms", DURATION, "10m", 0, 86400000,                                \
      "How long a judge or a policy that is away is waited for")                                   \
    X(train_trace_tokens, "train.trace_tokens", BOOL, "false", 0, 0,                               \
      "Whether traces.jsonl has the ids and log-probabilities of all tokens, too")                 \
    X(train_stages, "train.stages", STRING, "", 0, 0,                                              \
      "Rewards in turn: PRESET MEASURE RATE, separated by commas, the last a PRESET alone "        \
      "(\"staged1 compiled 0.7, staged2 correct 0.5, staged3\"); empty: gym.reward")               \
    X(train_stage_steps, "train.stage_steps", INT, "3", 1, 100000,                                 \
      "Steps over which the rate that a stage ends with is measured")                              \
    X(problems_path, "problems.path", STRING, "", 0, 0,                                            \
      "Directories of problems, separated by colons, searched before the ones that come along")    \
    X(retrieval_directory, "retrieval.directory", STRING, "", 0, 0,                                \
      "Index of solved examples that prompts draw from (`warpgym index build`); empty: none")      \
    X(retrieval_embeddings_url, "retrieval.embeddings_url", STRING, "", 0, 0,                      \
      "OpenAI-compatible endpoint for embeddings, http://host:8000/v1; empty: words alone count")  \
    X(retrieval_embeddings_model, "retrieval.embeddings_model", STRING, "", 0, 0,                  \
      "What the endpoint calls its model; it must be the one that the index was built with")       \
    X(retrieval_embeddings_token, "retrieval.embeddings_token", SECRET, "", 0, 0,                  \
      "Bearer token for that endpoint")                                                            \
    X(prompts_path, "prompts.path", STRING, "", 0, 0,                                              \
      "Directory of your own templates of prompts (docs/reference/prompts.md), searched before "   \
      "ours")                                                                                      \
    X(server_listen, "server.listen", STRING, "127.0.0.1:10907", 0, 0,                             \
      "Address and port of the HTTP server: 127.0.0.1:10907, [::1]:10907; port 0: a free one")     \
    X(server_token, "server.token", SECRET, "", 0, 0,                                              \
      "Bearer token that requests must bring; also WARPGYM_TOKEN")                                 \
    X(server_insecure, "server.insecure", BOOL, "false", 0, 0,                                     \
      "Whether to serve addresses that others reach without a token")                              \
    X(server_allowed_hosts, "server.allowed_hosts", STRING, "", 0, 0,                              \
      "Names beside localhost by which clients call a server on loopback, separated by commas")    \
    X(server_allowed_origins, "server.allowed_origins", STRING, "", 0, 0,                          \
      "Web origins whose pages may use the API (CORS), separated by commas; *: all")               \
    X(server_threads, "server.threads", INT, "2", 1, 64, "Threads that serve connections")         \
    X(server_handler_threads, "server.handler_threads", INT, "64", 1, 1024,                        \
      "Requests that wait for disks and databases at the same time")                               \
    X(server_handler_queue, "server.handler_queue", INT, "1024", 1, 65536,                         \
      "Requests that wait for such a thread; more get 503")                                        \
    X(server_max_connections, "server.max_connections", INT, "4096", 1, 65536,                     \
      "Connections at a time; more wait to be accepted")                                           \
    X(server_max_per_address, "server.max_per_address", INT, "0", 0, 65536,                        \
      "Connections from one address at a time, more are closed at once; 0: no bound of its own")   \
    X(server_body_max_bytes, "server.body_max_bytes", BYTES, "16MiB", 1024, 1 << 30,               \
      "Largest body of a request; above it 413")                                                   \
    X(server_queue_max, "server.queue_max", INT, "200000", 1, 1000000000,                          \
      "Queued jobs above which submissions get 429")                                               \
    X(server_episodes_max, "server.episodes_max", INT, "100000", 1, 1000000000,                    \
      "Episodes that are kept above which no further ones begin: 429")                             \
    X(server_header_timeout_ms, "server.header_timeout_ms", DURATION, "10s", 1, 3600000,           \
      "Longest from a connection to the end of its first request's headers; then 408")             \
    X(server_body_timeout_ms, "server.body_timeout_ms", DURATION, "60s", 1, 3600000,               \
      "Longest that a request's body may take; then 408")                                          \
    X(server_idle_timeout_ms, "server.idle_timeout_ms", DURATION, "75s", 1, 3600000,               \
      "Longest between two requests of one connection; then it is closed")                         \
    X(server_send_timeout_ms, "server.send_timeout_ms", DURATION, "60s", 1, 3600000,               \
      "Longest that a client may take to read a response; then it is closed")                      \
    X(mcp_idle_ms, "mcp.idle_ms", DURATION, "1h", 1000, 604800000,                                 \
      "How long a session of `warpgym mcp` that nobody uses is kept; then its episodes end")       \
    X(client_url, "client.url", STRING, "", 0, 0,                                                  \
      "Server that `warpgym eval` and `warpgym jobs` use: http://host:10907; empty: eval judges "  \
      "here")                                                                                      \
    X(client_token, "client.token", SECRET, "", 0, 0,                                              \
      "Bearer token for that server; empty: WARPGYM_TOKEN")                                        \
    X(client_ca_file, "client.ca_file", STRING, "", 0, 0,                                          \
      "Certificates (PEM) that a server on https may prove itself by; empty: the system's")        \
    X(client_connect_timeout_ms, "client.connect_timeout_ms", DURATION, "5s", 1, 3600000,          \
      "Longest that connecting to a server may take")                                              \
    X(client_timeout_ms, "client.timeout_ms", DURATION, "60s", 1, 3600000,                         \
      "Longest that an answer may take, beside what the server was asked to wait")                 \
    X(client_patience_ms, "client.patience_ms", DURATION, "2m", 0, 86400000,                       \
      "How long a server that is away or too busy is asked again before that is an error")         \
    X(policy_url, "policy.url", STRING, "", 0, 0,                                                  \
      "Who answers: http://HOST:PORT/v1 or https://… (an OpenAI-compatible endpoint), or "       \
      "scripted:FILE")                                                                             \
    X(policy_model, "policy.model", STRING, "", 0, 0,                                              \
      "The endpoint's name for the model; empty: its only one")                                    \
    X(policy_token, "policy.token", SECRET, "", 0, 0,                                              \
      "Bearer token for the endpoint; empty: OPENAI_API_KEY, over https and to this machine "      \
      "alone")                                                                                     \
    X(policy_ca_file, "policy.ca_file", STRING, "", 0, 0,                                          \
      "Certificates (PEM) that an endpoint on https may prove itself by; empty: the system's")     \
    X(policy_temperature, "policy.temperature", FLOAT, "-1", -1, 10,                               \
      "Sampling temperature; -1: the endpoint's own")                                              \
    X(policy_top_p, "policy.top_p", FLOAT, "-1", -1, 1,                                            \
      "Share of probability that is sampled from; -1: the endpoint's own")                         \
    X(policy_max_tokens, "policy.max_tokens", INT, "0", 0, 10000000,                               \
      "Tokens of one answer at most; 0: the endpoint's own bound")                                 \
    X(policy_max_tokens_key, "policy.max_tokens_key", STRING, "max_tokens", 0, 0,                  \
      "How the endpoint calls that: max_tokens or max_completion_tokens")                          \
    X(policy_thinking_open, "policy.thinking_open", BOOL, "false", 0, 0,                           \
      "Whether answers begin within a block of thinking, because the endpoint's template opens "   \
      "one")                                                                                       \
    X(policy_stop, "policy.stop", STRING, "", 0, 0,                                                \
      "Text that ends an answer and is not part of it; empty: none")                               \
    X(policy_seed, "policy.seed", BOOL, "true", 0, 0, "Whether to send a seed with each question") \
    X(policy_stream, "policy.stream", BOOL, "true", 0, 0,                                          \
      "Whether answers come token by token, so that a silent endpoint is noticed")                 \
    X(policy_logprobs, "policy.logprobs", BOOL, "false", 0, 0,                                     \
      "Whether to ask for the log-probabilities of an answer's tokens")                            \
    X(policy_extra, "policy.extra", STRING, "", 0, 0,                                              \
      "JSON object that is merged into each question, for an endpoint's own options; null takes "  \
      "a key out")                                                                                 \
    X(policy_at_once, "policy.at_once", INT, "16", 1, 4096,                                        \
      "Questions under way at a time; more wait")                                                  \
    X(policy_connect_timeout_ms, "policy.connect_timeout_ms", DURATION, "10s", 1, 3600000,         \
      "Longest that connecting to the endpoint may take")                                          \
    X(policy_first_token_timeout_ms, "policy.first_token_timeout_ms", DURATION, "10m", 1,          \
      86400000, "Longest until the first token of a streamed answer; then it is asked again")      \
    X(policy_token_timeout_ms, "policy.token_timeout_ms", DURATION, "1m", 1, 86400000,             \
      "Longest between two tokens of a streamed answer; then it is asked again")                   \
    X(policy_timeout_ms, "policy.timeout_ms", DURATION, "30m", 1, 86400000,                        \
      "Longest that a whole answer may take; then that is an error")                               \
    X(policy_patience_ms, "policy.patience_ms", DURATION, "10m", 0, 86400000,                      \
      "How long an endpoint that is away or too busy is asked again before that is an error")      \
    X(policy_promise_timeout_ms, "policy.promise_timeout_ms", DURATION, "2h", 1, 604800000,        \
      "Longest that a Tinker service may take for what it promised, queues too")                   \
    X(policy_parting_timeout_ms, "policy.parting_timeout_ms", DURATION, "2m", 1, 3600000,          \
      "Longest that each request to save an interrupted run may take; a second Ctrl-C ends that")  \
    X(policy_attempts, "policy.attempts", INT, "5", 1, 1000,                                       \
      "Tries after which failures of the endpoint's own (5xx, broken answers) are an error")       \
    X(policy_backoff_ms, "policy.backoff_ms", DURATION, "500ms", 1, 3600000,                       \
      "First pause before asking again; it doubles, up to 30s, and is never less than "            \
      "Retry-After")                                                                               \
    X(policy_price_prompt, "policy.price_prompt", FLOAT, "-1", -1, 1000000,                        \
      "Price of a million tokens of prompts, in whatever currency; -1: not known")                 \
    X(policy_price_cached, "policy.price_cached", FLOAT, "-1", -1, 1000000,                        \
      "Price of a million tokens of prompts that the endpoint had cached; -1: as other tokens of " \
      "prompts")                                                                                   \
    X(policy_price_completion, "policy.price_completion", FLOAT, "-1", -1, 1000000,                \
      "Price of a million tokens of answers; -1: not known")

#define SETTINGS_TYPE_STRING const char *
#define SETTINGS_TYPE_SECRET const char *
#define SETTINGS_TYPE_URL const char *
#define SETTINGS_TYPE_INT int64_t
#define SETTINGS_TYPE_FLOAT double
#define SETTINGS_TYPE_BOOL bool
#define SETTINGS_TYPE_DURATION int64_t
#define SETTINGS_TYPE_BYTES uint64_t

enum settings_index {
#define X(field, path, kind, standard, low, high, help) SETTING_##field,
    SETTINGS(X)
#undef X
        SETTINGS_COUNT
};

enum settings_origin { ORIGIN_DEFAULT, ORIGIN_FILE, ORIGIN_ENVIRONMENT, ORIGIN_COMMAND_LINE };

struct settings {
#define X(field, path, kind, standard, low, high, help) SETTINGS_TYPE_##kind field;
    SETTINGS(X)
#undef X
    struct arena arena;
    unsigned char origin[SETTINGS_COUNT]; /* enum settings_origin of each value */
    const char *source[SETTINGS_COUNT];   /* FILE:LINE or a variable's name; NULL: no more to say */
    const char *file;                     /* that settings_load has read; NULL: none */
};

/* Defaults. */
void settings_init(struct settings *settings);
void settings_deinit(struct settings *settings);

/* A file, then the environment. The file is the named one or $WARPGYM_CONFIG, which must exist,
 * else the first that is there of $XDG_CONFIG_HOME/warpgym/config.yaml and
 * /etc/warpgym/config.yaml. */
NODISCARD int settings_load(struct settings *settings, const char *file, struct err *err);
/* One "key=value" of the command line. */
NODISCARD int settings_assign(struct settings *settings, const char *assignment, struct err *err);
/* What no single value can tell (min_samples <= max_samples): call it after the last source. */
NODISCARD int settings_check(const struct settings *settings, struct err *err);

/* The parts of settings_load. `name` is how errors call the text. */
NODISCARD int settings_read_file(struct settings *settings, const char *path, struct err *err);
NODISCARD int settings_read_yaml(struct settings *settings, const char *name, const char *text,
                                 size_t count, struct err *err);
NODISCARD int settings_read_environment(struct settings *settings, char *const *environment,
                                        struct err *err);
NODISCARD int settings_set(struct settings *settings, const char *path, const char *value,
                           enum settings_origin origin, struct err *err);

/* The table for people: path, type, default, bounds, help; as plain text and as Markdown. */
void settings_describe(struct buf *out);
void settings_describe_markdown(struct buf *out);
/* The values as a YAML file that reads back to the same, each with its origin as a comment. */
void settings_show(const struct settings *settings, struct buf *out);
/* The values of one section ("check"), a line each and nothing else. */
void settings_show_section(const struct settings *settings, const char *section, struct buf *out);

/* One value as a YAML file has it; the row's path, "gym.turns". */
const char *settings_path(size_t index);
void settings_show_value(const struct settings *settings, size_t index, struct buf *out);
/* The first from `index` on that has another value in `b`, secrets apart, which no file shows;
 * SETTINGS_COUNT: there is none. */
size_t settings_difference(const struct settings *a, const struct settings *b, size_t index);

/* What is known of one setting on a machine. */
struct settings_choice {
    const char *path;
    const char *value; /* NULL: the default will do */
    const char *reason;
};

/* A YAML file for people to edit: chosen values with their reasons, everything else commented out
 * with its default. Lines of `header` become comments. */
void settings_template(const char *header, const struct settings_choice *choices, size_t count,
                       struct buf *out);
