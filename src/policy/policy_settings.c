#include "policy/policy_settings.h"

#include "base/setting.h"
#include "policy/policy.h"

#define DAY_MS 86400000

#define SECTION policy
static const struct setting_row policy_rows[] = {
    SETTING_TEXT(url, "none",
                 "Policy that answers: http://HOST:PORT/v1 or https://… (an OpenAI-compatible "
                 "endpoint), or scripted:FILE",
                 .absent = "none", .check = policy_check_url),
    SETTING_TEXT(model, "auto", "Name of the model at the endpoint; auto: its only one",
                 .absent = "auto"),
    SETTING_SECRET(token, "auto",
                   "Bearer token for the endpoint; auto: OPENAI_API_KEY, over https and to this "
                   "machine only",
                   .absent = "auto"),
    SETTING_TEXT(ca_file, "auto",
                 "Certificates (PEM) that verify an endpoint on https; auto: the system's",
                 .absent = "auto"),
    SETTING_OPTIONAL_FLOAT(temperature, "auto", "auto", 0, 10,
                           "Sampling temperature; auto: the endpoint's own"),
    SETTING_OPTIONAL_FLOAT(top_p, "auto", "auto", 0, 1,
                           "Probability mass that is sampled from; auto: the endpoint's own"),
    SETTING_OPTIONAL_INT(max_tokens, "auto", 1, 10000000,
                         "Most tokens of one answer; auto: the endpoint's own bound"),
    SETTING_WORD(max_tokens_key, "max_tokens", WORDS_IN(POLICY_MAX_TOKENS_KEYS),
                 "The endpoint's key for that"),
    SETTING_BOOL(thinking_open, "false",
                 "Whether answers begin inside a block of thinking, because the endpoint's "
                 "template opens one"),
    SETTING_TEXT(stop, "none", "Text that ends an answer and is not part of it", .absent = "none"),
    SETTING_BOOL(seed, "true", "Whether to send a seed with each request"),
    SETTING_BOOL(stream, "true",
                 "Whether answers arrive token by token, so that a silent endpoint is noticed"),
    SETTING_BOOL(logprobs, "false",
                 "Whether to request the log-probabilities of an answer's tokens"),
    SETTING_TEXT(extra, "none",
                 "JSON object that is merged into each request, for an endpoint's own options; "
                 "null removes a key",
                 .absent = "none", .check = policy_check_extra),
    SETTING_INT(concurrency, "16", 1, 4096, "Requests in flight at a time; more wait"),
    SETTING_DURATION(connect_timeout_ms, "10s", 1, 3600000,
                     "Time limit of connecting to the endpoint"),
    SETTING_DURATION(first_token_timeout_ms, "10m", 1, DAY_MS,
                     "Time limit of the first token of a streamed answer; then the request is "
                     "repeated"),
    SETTING_DURATION(token_timeout_ms, "1m", 1, DAY_MS,
                     "Time limit between two tokens of a streamed answer; then the request is "
                     "repeated"),
    SETTING_DURATION(timeout_ms, "30m", 1, DAY_MS,
                     "Time limit of a whole answer; beyond it the request fails"),
    SETTING_DURATION(retry_budget_ms, "10m", 0, DAY_MS,
                     "How long a request is repeated while the endpoint is unreachable or "
                     "overloaded"),
    SETTING_DURATION(future_timeout_ms, "2h", 1, 604800000,
                     "How long a Tinker future is polled, queueing included"),
    SETTING_DURATION(shutdown_timeout_ms, "2m", 1, 3600000,
                     "Time limit of each request that saves an interrupted run; a second Ctrl-C "
                     "ends it at once"),
    SETTING_INT(attempts, "5", 1, 1000,
                "Attempts after which failures of the endpoint itself (5xx, broken answers) are an "
                "error"),
    SETTING_DURATION(backoff_ms, "500ms", 1, 3600000,
                     "First pause before a repeated request; it doubles, up to 30s, and is never "
                     "less than Retry-After"),
    SETTING_OPTIONAL_FLOAT(price_prompt, "none", "none", 0, 1000000,
                           "Price of a million tokens of prompts, in any currency"),
    SETTING_OPTIONAL_FLOAT(price_cached, "auto", "auto", 0, 1000000,
                           "Price of a million tokens of prompts that the endpoint had cached; "
                           "auto: policy.price_prompt"),
    SETTING_OPTIONAL_FLOAT(price_completion, "none", "none", 0, 1000000,
                           "Price of a million tokens of answers"),
};
SETTING_SECTION(policy, policy_rows);
