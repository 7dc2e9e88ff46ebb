/* policy_settings: the section policy.*. */
#pragma once

#include "base/settings.h"
#include "base/word_table.h"

#define POLICY_MAX_TOKENS_KEYS(X)                                                                  \
    X(POLICY_MAX_TOKENS, "max_tokens") X(POLICY_MAX_COMPLETION_TOKENS, "max_completion_tokens")
enum policy_max_tokens_key { WORD_SYMBOLS(POLICY_MAX_TOKENS_KEYS) };

struct policy_settings {
    const char *url;     /* "": none */
    const char *model;   /* "": auto */
    const char *token;   /* "": auto */
    const char *ca_file; /* "": auto */
    struct optional_float temperature, top_p;
    struct optional_int max_tokens;
    enum policy_max_tokens_key max_tokens_key;
    bool thinking_open;
    const char *stop; /* "": none */
    bool seed, stream, logprobs;
    const char *extra; /* JSON; "": none */
    int64_t concurrency;
    int64_t connect_timeout_ms, first_token_timeout_ms, token_timeout_ms, timeout_ms;
    int64_t retry_budget_ms, future_timeout_ms, shutdown_timeout_ms, attempts, backoff_ms;
    struct optional_float price_prompt, price_cached, price_completion;
};
SETTINGS_OF(policy)
