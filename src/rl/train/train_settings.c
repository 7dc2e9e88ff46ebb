#include "rl/train/train_settings.h"

#include "base/setting.h"
#include "client/http_flow.h"
#include "lm/ops/backend.h"
#include "rl/train/config.h"
#include "rl/train/stage.h"
#include "rl/train/token_schedule.h"

#define TOKENS_MOST 16777216
#define STEPS_MOST 100000000

static int check_stages(const char *text, struct err *err)
{
    struct stages stages;
    int result = stages_open(&stages, text, 1, err);
    if (result == 0)
        stages_close(&stages);
    return result;
}

static int check_max_tokens_later(const char *text, struct err *err)
{
    struct token_schedule schedule;
    int result = token_schedule_read(&schedule, text, err);
    return result < 0 ? err_prefix(err, "train.max_tokens_later") : 0;
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
    SETTING_WORD(reduction, "auto", WORDS_IN(TRAIN_REDUCTIONS),
                 "How the service adds up losses: sum (Tinker, SkyRL on GPUs), mean (SkyRL on "
                 "JAX); auto: as the server is recognised"),
    SETTING_INT(lora_rank, "32", 0, 4096,
                "Rank of the adapter that is trained; 0: all parameters (engine; on a service 32)"),
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
    SETTING_INT(
        sampling_bits, "0", 0, LM_MANTISSA_BITS,
        "Bits that the mantissas of the trained weights are rounded to for sampling, to study "
        "a sampler that computes otherwise than the trainer (3: as fp8 E4M3, 7: as bf16); 0: "
        "all; engine only"),
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
    SETTING_FLOAT(oversample, "1", 1, 64,
                  "Episodes of each problem that are played for one that stays (train.surplus)"),
    SETTING_FLOAT(oversample_prompts, "1", 1, 64,
                  "Problems of a step's first round for one that stays: those that teach nothing "
                  "leave first"),
    SETTING_WORD(order, "shuffled", WORDS_IN(TRAIN_ORDERS),
                 "Which problems come next: shuffled, priority (rather those that are seldom "
                 "solved), moderate (those solved now and then), target (those solved about as "
                 "often as train.order_target, and seldom played): a curriculum"),
    SETTING_FLOAT(order_memory, "1", 0.001, 1,
                  "Share of a step in a problem's solve rate; 1: that of the last step alone"),
    SETTING_FLOAT(order_low, "0.1", 0, 1, "Least solve rate of a moderate problem"),
    SETTING_FLOAT(order_high, "0.9", 0, 1, "Greatest one"),
    SETTING_FLOAT(order_target, "0.5", 0, 1, "Solve rate that train.order=target prefers"),
    SETTING_FLOAT(order_width, "0.1", 0.001, 10, "Deviation from it that is still preferred"),
    SETTING_FLOAT(order_fresh, "0.2", 0, 1,
                  "Weight of problems that were seldom played; 1: nothing else counts"),
    SETTING_FLOAT(critic, "0", 0, 1,
                  "Share of a step in the mean return of each problem and turn, which is the value "
                  "that gae and egae start from; 0: that value is 0"),
    SETTING_INT(rounds, "1", 1, 1000,
                "Dynamic sampling: rounds in which a step draws problems to replace those that "
                "teach nothing; 1: none are replaced"),
    SETTING_BOOL(round_whole, "false",
                 "Whether each round draws train.prompts again, as Dr. Kernel's code does, and not "
                 "only what is missing"),
    SETTING_INT(jobs, "32", 1, 4096, "Episodes at the same time"),
    SETTING_INT(staleness, "0", 0, TRAIN_STALENESS_MOST,
                "Steps that are played ahead while one is trained; 0: none; 1: except behind a "
                "checkpoint or an evaluation, so that a run's numbers do not depend on timing"),
    SETTING_BOOL(carry, "false",
                 "Whether a step takes the problems whose episodes are over first, and leaves the "
                 "others to later steps, which go on with newer weights"),
    SETTING_INT(seed, "0", 0, 9007199254740992,
                "Seed of the order of problems, of all answers and draws"),
    SETTING_OPTIONAL_INT(max_tokens, "4096", 1, TOKENS_MOST,
                         "Most tokens of one answer; auto: what the context leaves"),
    SETTING_TEXT(max_tokens_later, "none",
                 "Its later values: STEP:TOKENS, separated by commas (\"30:16384, 60:22528\"); "
                 "none: it stays",
                 .absent = "none", .check = check_max_tokens_later),
    SETTING_FLOAT(temperature, "1", 0, 10, "Sampling temperature of answers that are trained on"),
    SETTING_FLOAT(top_p, "1", 0.0001, 1, "Probability mass that they are sampled from"),
    SETTING_INT(top_k, "0", 0, TOKENS_MOST,
                "Number of likeliest tokens that they are sampled from; 0: all"),
    SETTING_BOOL(thinking, "false", "Whether Qwen3's template leaves thinking on"),
    SETTING_WORD(ratio, "sampled", WORDS_IN(TRAIN_RATIOS),
                 "Denominator of the loss's ratio: sampled (the sampler's log-probabilities), "
                 "trained (the trainer's, before the step)"),
    SETTING_BOOL(rescore, "true",
                 "Whether the trainer's log-probabilities are computed before each step; without, "
                 "the sampler's are used and no mismatch is seen"),
    SETTING_WORD(ratio_level, "token", WORDS_IN(TRAIN_RATIO_LEVELS),
                 "What that ratio is of: token, or turn: the geometric mean over its tokens (GSPO, "
                 "with train.loss=ppo and bounds such as 0.9997 and 1.0004)"),
    SETTING_WORD(kl_in, "advantages", WORDS_IN(TRAIN_KL_PLACES),
                 "Where train.kl counts: in the advantages, from the sampled log-probabilities, or "
                 "as a term of the loss"),
    SETTING_WORD(kl_estimator, "k3", WORDS_IN(RL_KL_ESTIMATORS),
                 "Estimator of the distance in the loss (docs/reference/methods.md)"),
    SETTING_FLOAT(kl_target, "0", 0, 1000000,
                  "Distance from the initial model that train.kl is adapted to after each step; 0: "
                  "train.kl stays"),
    SETTING_FLOAT(kl_horizon, "10000", 1, 1000000000000,
                  "Turns over which it is: in so many it changes by at most a fifth"),
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
    SETTING_INT(epochs, "1", 1, 1000, "How often a step's turns are trained on"),
    SETTING_WORD(overlong, "keep", WORDS_IN(TRAIN_OVERLONGS),
                 "Answers that reach train.max_tokens: keep, mask (they are not trained on; others "
                 "are still compared with them)"),
    SETTING_INT(overlong_buffer, "0", 0, TOKENS_MOST,
                "Last tokens of train.max_tokens in which an answer loses reward; 0: none"),
    SETTING_FLOAT(overlong_penalty, "1", 0, 1000000,
                  "What it loses at train.max_tokens, and in proportion before"),
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
