#include "policy/policy_ops.h"

#include "base/clock.h"
#include "base/mem.h"
#include "client/http_flow.h"
#include "policy/openai_request.h"
#include "policy/policy_settings.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define STEP_MS 50 /* between checks of `cancelled` */

static const struct policy_ops *const policy_kinds[] = {&policy_openai, &policy_scripted, NULL};

struct policy {
    const struct policy_ops *ops;
    void *state;
    const struct settings *settings;
    const _Atomic int *cancelled;
    pthread_mutex_t mutex;
    pthread_cond_t slot_freed;
    int64_t free_slots; /* not in use */
};

static const struct policy_ops *find_policy_ops(const char *url)
{
    for (const struct policy_ops *const *ops = policy_kinds; *ops; ops++)
        for (const char *const *prefix = (*ops)->prefixes; *prefix; prefix++)
            if (strncmp(url, *prefix, strlen(*prefix)) == 0)
                return *ops;
    return NULL;
}

int policy_check_url(const char *url, struct err *err)
{
    const struct policy_ops *ops = find_policy_ops(url);
    if (!ops)
        return err_set(err, ERR_INPUT,
                       "unknown policy '%.200s': give http://HOST:PORT/v1, https://… or "
                       "scripted:FILE",
                       url);
    return ops == &policy_openai ? http_flow_check_url(url, "policy.token", err) : 0;
}

int policy_check_extra(const char *text, struct err *err)
{
    json_t *extra = NULL;
    int result = openai_extra(text, &extra, err);
    json_decref(extra);
    return result;
}

int policy_open(struct policy **out, const struct policy_options *options, struct err *err)
{
    const struct policy_settings *values = policy_settings(options->settings);
    struct policy_options wanted = *options;
    *out = NULL;
    if (!wanted.url)
        wanted.url = values->url;
    if (!wanted.model && values->model[0])
        wanted.model = values->model;
    if (!wanted.url[0])
        return err_set(err, ERR_INPUT,
                       "no policy is set: name an endpoint (http://HOST:PORT/v1) or scripted:FILE "
                       "with --policy or the setting policy.url");
    int result = policy_check_url(wanted.url, err);
    if (result < 0)
        return result;
    const struct policy_ops *ops = find_policy_ops(wanted.url);
    struct policy *policy = mem_alloc(sizeof *policy);
    policy->ops = ops;
    policy->settings = options->settings;
    policy->cancelled = options->cancelled;
    policy->free_slots = values->concurrency;
    pthread_mutex_init(&policy->mutex, NULL);
    pthread_cond_init(&policy->slot_freed, NULL);
    result = ops->open(&policy->state, &wanted, err);
    if (result < 0) {
        policy_close(policy);
        return result;
    }
    *out = policy;
    return 0;
}

void policy_close(struct policy *policy)
{
    if (!policy)
        return;
    if (policy->state)
        policy->ops->close(policy->state);
    pthread_cond_destroy(&policy->slot_freed);
    pthread_mutex_destroy(&policy->mutex);
    mem_free(policy);
}

const char *policy_kind(const struct policy *policy)
{
    return policy->ops->kind;
}

const char *policy_model(const struct policy *policy)
{
    return policy->ops->model(policy->state);
}

int policy_models(struct policy *policy, json_t **models, struct err *err)
{
    return policy->ops->models(policy->state, models, err);
}

static bool is_cancelled(const _Atomic int *cancelled)
{
    return cancelled && *cancelled;
}

int policy_rest(const _Atomic int *cancelled, int64_t ms, struct err *err)
{
    int64_t deadline_ns = clock_now_ns() + ms * 1000000;
    int left;
    while ((left = clock_left_ms(deadline_ns)) > 0 && !is_cancelled(cancelled)) {
        struct timespec step = {.tv_nsec = (left < STEP_MS ? left : STEP_MS) * 1000000L};
        nanosleep(&step, NULL);
    }
    return is_cancelled(cancelled) ? err_set(err, ERR_CANCELLED, "cancelled") : 0;
}

bool policy_url_is_private(const char *url)
{
    static const char plain[] = "http://", local[] = "localhost", local6[] = "[::1]";
    const char *host = url + sizeof plain - 1;
    if (strncasecmp(url, plain, sizeof plain - 1) != 0)
        return strncasecmp(url, "https://", 8) == 0;
    size_t length = *host == '[' ? strcspn(host, "/") : strcspn(host, ":/");
    if (strncasecmp(host, local6, sizeof local6 - 1) == 0)
        return length == sizeof local6 - 1 || host[sizeof local6 - 1] == ':';
    if (length == sizeof local - 1 && strncasecmp(host, local, length) == 0)
        return true;
    return strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == length;
}

static int acquire_slot(struct policy *policy, struct err *err)
{
    pthread_mutex_lock(&policy->mutex);
    while (policy->free_slots == 0 && !is_cancelled(policy->cancelled)) {
        struct timespec until = clock_in_ms(STEP_MS);
        pthread_cond_timedwait(&policy->slot_freed, &policy->mutex, &until);
    }
    bool cancelled = is_cancelled(policy->cancelled);
    policy->free_slots -= !cancelled;
    pthread_mutex_unlock(&policy->mutex);
    return cancelled ? err_set(err, ERR_CANCELLED, "cancelled") : 0;
}

static void release_slot(struct policy *policy)
{
    pthread_mutex_lock(&policy->mutex);
    policy->free_slots++;
    pthread_cond_signal(&policy->slot_freed);
    pthread_mutex_unlock(&policy->mutex);
}

void policy_answer_init(struct policy_answer *answer)
{
    *answer = (struct policy_answer){
        .prompt_tokens = -1,
        .completion_tokens = -1,
        .cached_tokens = -1,
        .cost = NAN,
        .answer_ms = NAN,
        .first_token_ms = NAN,
    };
}

double policy_cost(const struct settings *settings, const struct policy_answer *answer)
{
    const struct policy_settings *policy = policy_settings(settings);
    const double prompt = policy->price_prompt.value, completion = policy->price_completion.value;
    const double cached = policy->price_cached.given ? policy->price_cached.value : prompt;
    if (!policy->price_prompt.given || !policy->price_completion.given ||
        answer->prompt_tokens < 0 || answer->completion_tokens < 0)
        return NAN;
    double known = answer->cached_tokens > 0 ? (double)answer->cached_tokens : 0;
    double fresh = (double)answer->prompt_tokens - known;
    return ((fresh > 0 ? fresh : 0) * prompt + known * cached +
            (double)answer->completion_tokens * completion) *
           1e-6;
}

int policy_complete(struct policy *policy, const struct policy_request *request,
                    struct policy_answer *answer, struct err *err)
{
    policy_answer_init(answer);
    int result = acquire_slot(policy, err);
    if (result < 0)
        return result;
    result = policy->ops->complete(policy->state, request, answer, err);
    release_slot(policy);
    if (result < 0)
        policy_answer_deinit(answer);
    else
        answer->cost = policy_cost(policy->settings, answer);
    return result;
}

void policy_answer_deinit(struct policy_answer *answer)
{
    mem_free(answer->text);
    mem_free(answer->reasoning);
    mem_free(answer->model);
    json_decref(answer->logprobs);
    policy_answer_init(answer);
}
