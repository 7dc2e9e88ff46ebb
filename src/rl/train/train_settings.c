#include "rl/train/train_settings.h"

#include "base/setting.h"
#include "client/http_flow.h"
#include "lm/ops/backend.h"
#include "rl/method/method.h"
#include "rl/train/config.h"
#include "rl/train/stage.h"

#define TOKENS_MOST 16777216
#define STEPS_MOST 100000000
/* The words of a flag of struct rl_method: off, on. */
#define EITHER(off, on) WORDS(((const char *const[]){off, on, NULL}))

static int check_stages(const char *text, struct err *err)
{
    struct stages stages;
    int result = stages_open(&stages, text, 1, err);
    if (result == 0)
        stages_close(&stages);
    return result;
}

static int check_url(const char *url, struct err *err)
{
    return http_flow_check_url(url, "policy.token", err);
}

#define SECTION train
static const struct setting_row train_rows[] = {
    SETTING_WORD(
        backend, "engine", WORDS_IN(TRAIN_BACKENDS),
        "Training backend: the engine (a model in this process), or a Tinker service, such "
        "as SkyRL's server"),
    SETTING_TEXT(model, "",
                 "Model that is trained: a directory (engine), or the base model's name (tinker)"),
    SETTING_TEXT(tokenizer, "auto", "Directory of the tokenizer; auto: the model's",
                 .absent = "auto"),
    SETTING_URL(url, "auto", "Address of the Tinker service; auto: TINKER_BASE_URL",
                .absent = "auto", .check = check_url),
    SETTING_INT(lora_rank, "32", 0, 4096,
                "Rank of the adapter that is trained; 0: all parameters (engine only)"),
    SETTING_OPTIONAL_FLOAT(lora_alpha, "auto", "auto", 0, 1000000,
                           "The adapter's scale times its rank; auto: twice the rank"),
    SETTING_OPTIONAL_INT(context, "auto", 1, TOKENS_MOST,
                         "Tokens of a prompt and its answer together; auto: the number of the "
                         "model's positions"),
    SETTING_OPTIONAL_INT(batch_tokens, "auto", 1, TOKENS_MOST,
                         "Tokens of one training pass of the engine; auto: train.context"),
    SETTING_BOOL(recompute, "true",
                 "Whether the engine recomputes layers in the backward pass, which takes a third "
                 "more time and far less memory"),
    SETTING_WORD(device, "cpu", &lm_backend_words, "Device of the engine"),
    SETTING_OPTIONAL_INT(threads, "auto", 1, 4096,
                         "Threads of the engine; auto: one for each CPU. The last bits of sums "
                         "depend on it"),
    SETTING_TEXT(problems, "",
                 "Problems to train on, separated by blanks: ids, suites (native, level1), all, "
                 "@FILE"),
    SETTING_TEXT(held_out, "",
                 "Problems to evaluate on, in the same form; they are removed from the others"),
    SETTING_FLOAT(held_out_share, "0", 0, 0.9,
                  "Share of train.problems that is reserved for evaluation, drawn by train.seed"),
    SETTING_BOOL(timing, "true", "Whether candidates are timed; otherwise only correctness counts"),
    SETTING_INT(steps, "100", 0, STEPS_MOST,
                "Steps of reinforcement learning; 0: fine-tuning only"),
    SETTING_INT(prompts, "8", 1, 65536, "Problems of a step"),
    SETTING_INT(samples, "8", 1, 65536, "Episodes of each problem"),
    SETTING_INT(rounds, "1", 1, 1000,
                "Dynamic sampling: rounds in which a step draws problems to replace those that "
                "teach nothing; 1: none are replaced"),
    SETTING_BOOL(round_whole, "false",
                 "Whether each round draws train.prompts again, as Dr. Kernel's code does, and not "
                 "only what is missing"),
    SETTING_INT(jobs, "32", 1, 4096, "Episodes at the same time"),
    SETTING_INT(staleness, "0", 0, 1,
                "Steps that are sampled ahead while one is trained, except behind a checkpoint or "
                "an evaluation; 0: none"),
    SETTING_INT(seed, "0", 0, 9007199254740992,
                "Seed of the order of problems, of all answers and draws"),
    SETTING_OPTIONAL_INT(max_tokens, "4096", 1, TOKENS_MOST,
                         "Most tokens of one answer; auto: what the context leaves"),
    SETTING_FLOAT(temperature, "1", 0, 10, "Sampling temperature of answers that are trained on"),
    SETTING_FLOAT(top_p, "1", 0.0001, 1, "Probability mass that they are sampled from"),
    SETTING_INT(top_k, "0", 0, TOKENS_MOST,
                "Number of likeliest tokens that they are sampled from; 0: all"),
    SETTING_BOOL(thinking, "false", "Whether Qwen3's template leaves thinking on"),
    SETTING_WORD(method, "trloo", &rl_method_words,
                 "Preset of all that follows up to train.singleton (docs/reference/methods.md)"),
    SETTING_OPTIONAL_WORD(estimator, "auto", WORDS_OF(rl_estimators, name),
                          "Estimator of advantages; auto: the method's"),
    SETTING_OPTIONAL_WORD(returns, "auto", WORDS_OF(rl_return_rules, name),
                          "Rule of returns; auto: the method's"),
    SETTING_OPTIONAL_WORD(shaping, "auto", WORDS_IN(RL_SHAPINGS),
                          "Shaping of rewards; auto: the method's"),
    SETTING_OPTIONAL_WORD(void_turns, "auto", EITHER("keep", "mask"),
                          "Turns without reward behind one that had some; auto: the method's"),
    SETTING_OPTIONAL_WORD(failed_turns, "auto", EITHER("keep", "mask"),
                          "Turns of an episode in which another could not be judged; auto: the "
                          "method's"),
    SETTING_OPTIONAL_WORD(unjudged, "auto", EITHER("leave", "zero"),
                          "Turns that could not be judged: leave (as if they did not exist), zero "
                          "(their reward is 0); auto: the method's"),
    SETTING_OPTIONAL_WORD(bounds_level, "auto", WORDS_IN(RL_LEVELS),
                          "Level at which importance ratios are bounded, to reject mismatch; auto: "
                          "the method's"),
    SETTING_OPTIONAL_FLOAT(bounds_lower, "auto", "auto", 0, 1,
                           "Least ratio; 0: 1 / train.bounds_upper; auto: the method's"),
    SETTING_OPTIONAL_FLOAT(bounds_upper, "auto", "auto", 0, 1000000,
                           "Greatest ratio; auto: the method's"),
    SETTING_OPTIONAL_FLOAT(veto, "auto", "auto", 0, 1,
                           "A token's ratio below which its turn is rejected; 0: none; auto: the "
                           "method's"),
    SETTING_OPTIONAL_WORD(veto_unit, "auto", EITHER("turn", "rollout"),
                          "What such a token rejects; auto: the method's"),
    SETTING_OPTIONAL_WORD(coverage, "auto", WORDS_IN(TRAIN_COVERAGES),
                          "Rejection of lazy kernels; auto: the method's"),
    SETTING_OPTIONAL_FLOAT(coverage_threshold, "auto", "auto", 0, 1,
                           "Share of own kernels (gym.coverage) below which a turn is rejected; "
                           "auto: the method's"),
    SETTING_OPTIONAL_FLOAT(coverage_factor, "auto", "auto", 0, 1,
                           "Width above it in which rejection is random; auto: the method's"),
    SETTING_OPTIONAL_WORD(coverage_turns, "auto", EITHER("correct", "every"),
                          "Turns whose share counts; auto: the method's"),
    SETTING_OPTIONAL_WORD(coverage_unknown, "auto", EITHER("keep", "zero"),
                          "Turns whose share is unknown: keep, zero (as if it were 0); auto: the "
                          "method's"),
    SETTING_OPTIONAL_FLOAT(coverage_speedup, "auto", "auto", 0, 1000000,
                           "Speedup from which on no turn is lazy; 0: none; auto: the method's"),
    SETTING_OPTIONAL_WORD(coverage_rewards, "auto", EITHER("drop", "pay"),
                          "Rewards of rejected lazy turns in the returns of earlier turns; auto: "
                          "the method's"),
    SETTING_OPTIONAL_WORD(rejected_turns, "auto", EITHER("leave", "stay"),
                          "Turns rejected for mismatch or coverage, in the groups that others are "
                          "compared with; auto: the method's"),
    SETTING_OPTIONAL_WORD(filter, "auto", WORDS_IN(RL_FILTERS),
                          "When a problem teaches nothing; auto: the method's"),
    SETTING_OPTIONAL_FLOAT(filter_deviation, "auto", "auto", 0, 1000000,
                           "Deviation below which its values are alike; auto: the method's"),
    SETTING_OPTIONAL_WORD(filter_values, "auto", EITHER("returns", "rewards"),
                          "Those values; auto: the method's"),
    SETTING_OPTIONAL_INT(filter_rollouts, "auto", 0, 65536,
                         "Usable episodes that it needs; auto: the method's"),
    SETTING_OPTIONAL_WORD(importance, "auto", WORDS_IN(RL_LEVELS),
                          "Level of importance weights; auto: the method's"),
    SETTING_OPTIONAL_FLOAT(importance_upper, "auto", "auto", 0, 1000000,
                           "Their upper bound; 0: none; auto: the method's"),
    SETTING_OPTIONAL_WORD(aggregation, "auto", WORDS_IN(RL_AGGREGATIONS),
                          "Normalisation of the loss; auto: the method's"),
    SETTING_OPTIONAL_FLOAT(scale, "auto", "auto", 0, 1000000000,
                           "Further divisor of the loss; auto: the method's"),
    SETTING_OPTIONAL_INT(nominal_rows, "auto", 0, 1000000000,
                         "Number of turns that a step counts as; 0: those that count; auto: the "
                         "method's"),
    SETTING_OPTIONAL_INT(pad_rows, "auto", 0, 1000000000,
                         "The number of turns is rounded up to a multiple of this, the first ones "
                         "counting twice; 0: it is not; auto: the method's"),
    SETTING_OPTIONAL_INT(nominal_tokens, "auto", 0, TOKENS_MOST,
                         "Number of tokens that a turn counts as; 0: that of the longest; auto: "
                         "the method's"),
    SETTING_OPTIONAL_WORD(singleton, "auto", EITHER("return", "zero"),
                          "Advantage of the only turn of a group; auto: the method's"),
    SETTING_WORD(loss, "importance_sampling", &loss_policy_words, "Loss of the policy"),
    SETTING_WORD(ratio, "sampled", WORDS_IN(TRAIN_RATIOS),
                 "Denominator of the loss's ratio: sampled (the sampler's log-probabilities), "
                 "trained (the trainer's, before the step)"),
    SETTING_BOOL(rescore, "true",
                 "Whether the trainer's log-probabilities are computed before each step; without, "
                 "the sampler's are used and no mismatch is seen"),
    SETTING_OPTIONAL_FLOAT(clip_low, "auto", "auto", 0, 1,
                           "Lower bound of the ratio (ppo, cispo); auto: the loss's own"),
    SETTING_OPTIONAL_FLOAT(clip_high, "auto", "auto", 0, 1000000,
                           "Upper bound; auto: the loss's own"),
    SETTING_FLOAT(dual_clip, "0", 0, 1000000,
                  "Bound of ppo's ratio where an advantage is negative; 0: none; engine only"),
    SETTING_OPTIONAL_FLOAT(dro_beta, "auto", "auto", 0, 1000000,
                           "Weight of dro's squared ratio; auto: the loss's own"),
    SETTING_FLOAT(entropy, "0", 0, 1000000,
                  "Weight of a bonus for the entropy of answers, averaged like the loss; engine "
                  "only"),
    SETTING_FLOAT(kl, "0", 0, 1000000,
                  "Weight of a penalty for the distance from the initial model; above 0 that model "
                  "stays in memory, too"),
    SETTING_FLOAT(kl_discount, "0", 0, 1,
                  "Discount of later tokens' penalty in a token's; 0: its own only"),
    SETTING_FLOAT(rate, "0.00001", 0, 1, "Learning rate"),
    SETTING_FLOAT(beta1, "0.9", 0, 0.999999, "AdamW's beta1"),
    SETTING_FLOAT(beta2, "0.95", 0, 0.999999, "AdamW's beta2"),
    SETTING_FLOAT(epsilon, "0.00000001", 0, 1, "AdamW's epsilon"),
    SETTING_FLOAT(decay, "0", 0, 1, "AdamW's weight decay"),
    SETTING_FLOAT(clip, "1", 0, 1000000, "Bound of the gradients' norm; 0: none"),
    SETTING_WORD(schedule, "constant", WORDS_IN(LM_SCHEDULES), "Schedule of the learning rate"),
    SETTING_INT(warmup, "0", 0, STEPS_MOST, "Steps in which it rises"),
    SETTING_FLOAT(floor, "0", 0, 1, "Part of it at the schedule's end"),
    SETTING_INT(substeps, "1", 1, 4096,
                "Updates of the weights over which a step's turns are divided"),
    SETTING_TEXT(sft_data, "none",
                 "JSONL files for fine-tuning before the first step, separated by colons "
                 "(docs/guide/lm.md)",
                 .absent = "none"),
    SETTING_INT(sft_epochs, "1", 1, 100000, "Epochs of fine-tuning"),
    SETTING_INT(sft_tokens, "8192", 1, TOKENS_MOST, "Tokens of one of its steps"),
    SETTING_INT(sft_max_tokens, "2048", 1, TOKENS_MOST,
                "Tokens of one example; the rest is cut off"),
    SETTING_FLOAT(sft_rate, "0.00001", 0, 1, "Its learning rate"),
    SETTING_OPTIONAL_FLOAT(sft_beta2, "auto", "auto", 0, 0.999999,
                           "AdamW's beta2 in it; auto: train.beta2"),
    SETTING_WORD(sft_schedule, "cosine", WORDS_IN(LM_SCHEDULES), "Schedule of its learning rate"),
    SETTING_INT(sft_warmup, "0", 0, STEPS_MOST, "Steps in which that rises"),
    SETTING_FLOAT(sft_floor, "0.1", 0, 1, "Part of it at the schedule's end"),
    SETTING_INT(evaluate_every, "10", 0, STEPS_MOST,
                "Steps between evaluations, besides one before the first step and one at the end; "
                "0: no evaluation at all"),
    SETTING_INT(evaluate_samples, "1", 1, 65536, "Episodes of each held-out problem"),
    SETTING_FLOAT(evaluate_temperature, "0", 0, 10,
                  "Sampling temperature of their answers; 0: the likeliest token"),
    SETTING_FLOAT(evaluate_top_p, "1", 0.0001, 1, "Probability mass that they are sampled from"),
    SETTING_WORD(measure, "correct", WORDS_IN(TRAIN_MEASURES),
                 "Measure of the best checkpoint and of train.early_stop"),
    SETTING_INT(early_stop, "0", 0, 100000,
                "Evaluations without a better one after which training ends; 0: never"),
    SETTING_INT(save_every, "10", 1, STEPS_MOST, "Steps between checkpoints"),
    SETTING_INT(keep, "2", 1, 100000, "Checkpoints that are kept, besides the best one"),
    SETTING_INT(text_every, "10", 0, STEPS_MOST,
                "Steps between a few answers as text for TensorBoard, besides those of "
                "evaluations; 0: none at all"),
    SETTING_INT(guard_skips, "3", 1, 1000,
                "Consecutive steps with a loss or gradient that is not finite, after which "
                "training ends"),
    SETTING_FLOAT(guard_norm, "0", 0, 1000000000000,
                  "Gradient norm above which training ends; 0: none"),
    SETTING_FLOAT(guard_kl, "0", 0, 1000000,
                  "Mismatch of sampler and trainer (k3) above which training ends; 0: none"),
    SETTING_DURATION(wait_ms, "10m", 0, 86400000,
                     "How long training waits for an unreachable judge or policy"),
    SETTING_BOOL(trace_tokens, "false",
                 "Whether traces.jsonl contains the ids and log-probabilities of all tokens"),
    SETTING_TEXT(stages, "none",
                 "Successive rewards: PRESET MEASURE RATE, separated by commas, the last one only "
                 "a PRESET (\"staged1 compiled 0.7, staged2 correct 0.5, staged3\"); none: "
                 "gym.reward",
                 .absent = "none", .check = check_stages),
    SETTING_INT(stage_steps, "3", 1, 100000,
                "Steps over which the rate that ends a stage is averaged"),
};
SETTING_SECTION(train, train_rows, .check = train_config_check);
