#include "judge/audited.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "compile/cache.h"
#include "judge/judge_internal.h"
#include "judge/request/judge_settings.h"

#include <stdlib.h>
#include <string.h>

#define AUDIT_VERSION 5 /* of what is attempted, and of the text that is kept */
#define TICK_MS 50

void audits_init(struct audits *audits)
{
    pthread_mutex_init(&audits->lock, NULL);
    pthread_cond_init(&audits->ended, NULL);
}

void audits_deinit(struct audits *audits)
{
    for (size_t i = 0; i < AUDITED_MOST; i++)
        mem_free(audits->kept[i].text);
    pthread_cond_destroy(&audits->ended);
    pthread_mutex_destroy(&audits->lock);
}

/* budget_ms 0: of an audit that was made to its end. */
static void make_key(const char *reference_hash, bool on_gpu, int64_t budget_ms, int try,
                     char key[HASH_HEX_BYTES])
{
    uint64_t numbers[] = {AUDIT_VERSION, on_gpu, (uint64_t)budget_ms, (uint64_t)try};
    struct hash *hash = hash_new();
    hash_update_string(hash, "problem audit");
    hash_update(hash, numbers, sizeof numbers);
    hash_update_string(hash, reference_hash);
    hash_finish(hash, key);
}

/* --- as text -----------------------------------------------------------------------------------*/

static char *audit_text(const struct verdict *verdict)
{
    json_t *json = verdict_json_at(verdict, "problem_audit");
    char *text = json_dumps(json, JSON_COMPACT);
    char *copy = mem_strdup(text ? text : "{}");
    free(text);
    json_decref(json);
    return copy;
}

/* False: it is no such text. */
static bool take_text(const char *text, struct verdict *verdict)
{
    json_t *object = NULL;
    struct err ignored;
    verdict->audit = (struct verdict_audit){0};
    bool taken = json_parse("audit", text, strlen(text), &object, &ignored) == 0 &&
                 verdict_read_at(object, "problem_audit", verdict, &ignored) == 0;
    json_decref(object);
    return taken;
}

/* --- on disk -----------------------------------------------------------------------------------*/

static const char *cache_of(const struct judge *judge)
{
    return cache_settings(judge->options.settings)->max_bytes > 0 ? judge->installation.cache
                                                                  : NULL;
}

static char *load_text(const struct judge *judge, const char key[HASH_HEX_BYTES])
{
    struct cache_entry entry;
    const char *directory = cache_of(judge);
    if (!directory || !cache_get(directory, key, &entry))
        return NULL;
    mem_free(entry.path);
    return entry.diagnostics;
}

static void store_text(const struct judge *judge, const char key[HASH_HEX_BYTES], const char *text)
{
    struct err err;
    char *path = NULL;
    const char *directory = cache_of(judge);
    if (directory && cache_put(directory, key, -1, text, &path, &err) < 0)
        log_write(LOG_LEVEL_DEBUG, "judge", "the audit is not kept: %s", err.text);
    mem_free(path);
}

/* --- making one --------------------------------------------------------------------------------*/

/* Ends an audit when its time is over: before its next call, so that its reference can be kept; a
 * call that takes as much time again is stopped, as for a cancellation. */
struct bound {
    _Atomic int over, stop;
    int64_t budget_ns, left_ns;
    _Atomic int64_t end_ns; /* INT64_MAX: it stands still */
    const _Atomic int *cancelled;
    pthread_t thread;
    bool begun, ended;
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

static void *watch_bound(void *argument)
{
    struct bound *bound = argument;
    pthread_mutex_lock(&bound->lock);
    while (!bound->ended && !bound->stop) {
        struct timespec until = clock_in_ms(TICK_MS);
        pthread_cond_timedwait(&bound->wake, &bound->lock, &until);
        int64_t late_ns = clock_now_ns() - bound->end_ns;
        if (late_ns >= 0)
            bound->over = 1;
        if (late_ns >= bound->budget_ns || (bound->cancelled && *bound->cancelled))
            bound->stop = 1;
    }
    pthread_mutex_unlock(&bound->lock);
    return NULL;
}

static void begin_bound(struct bound *bound)
{
    pthread_mutex_init(&bound->lock, NULL);
    pthread_cond_init(&bound->wake, NULL);
    bound->begun = pthread_create(&bound->thread, NULL, watch_bound, bound) == 0;
}

/* Opening the reference is not lost: the evaluation takes it over. */
static void run_bound(void *context, bool now)
{
    struct bound *bound = context;
    int64_t end_ns = bound->end_ns;
    if (now)
        bound->end_ns = clock_now_ns() + bound->left_ns;
    else if (end_ns != INT64_MAX) {
        bound->left_ns = end_ns - clock_now_ns();
        bound->end_ns = INT64_MAX;
    }
}

static void end_bound(struct bound *bound)
{
    pthread_mutex_lock(&bound->lock);
    bound->ended = true;
    pthread_cond_signal(&bound->wake);
    pthread_mutex_unlock(&bound->lock);
    if (bound->begun)
        pthread_join(bound->thread, NULL);
    pthread_cond_destroy(&bound->wake);
    pthread_mutex_destroy(&bound->lock);
}

/* True: the outcome is worth keeping on disk. */
static bool make_audit(struct judge *judge, const struct audit_request *request,
                       struct verdict *verdict, bool *whole)
{
    struct problem_audit audit;
    struct err err;
    int64_t start_ns = clock_now_ns();
    int64_t budget_ms = audit_settings(request->settings)->budget_ms;
    struct bound bound = {.budget_ns = budget_ms * 1000000,
                          .left_ns = budget_ms * 1000000,
                          .end_ns = INT64_MAX,
                          .cancelled = request->cancelled};
    struct problem_audit_terms terms = {.settings = request->settings,
                                        .cancelled = &bound.stop,
                                        .over = &bound.over,
                                        .brief = true,
                                        .next = request->next,
                                        .runs = run_bound,
                                        .context = &bound};
    begin_bound(&bound);
    int result = problem_audit_run(judge, request->problem, &terms, &audit, &err);
    end_bound(&bound);
    *whole = result == 0;
    verdict->audit = (struct verdict_audit){.outcome = AUDIT_UNKNOWN};
    if (result == 0)
        problem_audit_verdict(&audit, verdict);
    else if (bound.over)
        verdict->audit.reason = arena_printf(
            &verdict->arena,
            "the audit takes longer than %lld ms (audit.budget_ms); `warpgym problem check` makes "
            "it in whole",
            (long long)budget_ms);
    else
        verdict->audit.reason = arena_printf(&verdict->arena, "the audit failed: %.500s", err.text);
    verdict->audit.took_ms = clock_ms_since(start_ns);
    problem_audit_deinit(&audit);
    return result == 0 || bound.over;
}

/* --- once --------------------------------------------------------------------------------------*/

static struct audited *find_kept(struct audits *audits, const char *key)
{
    for (size_t i = 0; i < AUDITED_MOST; i++)
        if (strcmp(audits->kept[i].key, key) == 0)
            return &audits->kept[i];
    return NULL;
}

static void forget_audit(struct audited *kept)
{
    mem_free(kept->text);
    *kept = (struct audited){0};
}

/* With the lock: a place for a session that begins; NULL: all are taken by others. */
static struct audited *take_place(struct audits *audits, const char key[HASH_HEX_BYTES])
{
    for (size_t i = 0; i < AUDITED_MOST; i++) {
        struct audited *place = &audits->kept[audits->next++ % AUDITED_MOST];
        if (place->key[0] && !place->text)
            continue;
        forget_audit(place);
        memcpy(place->key, key, HASH_HEX_BYTES);
        return place;
    }
    return NULL;
}

/* True: it is known now. False: the caller is to find out, and *place is its own until give_place;
 * NULL: it is for the caller alone. */
static bool await_audit(struct audits *audits, const char key[HASH_HEX_BYTES],
                        const struct audit_request *request, struct verdict *verdict,
                        struct audited **place)
{
    bool known = false;
    bool cancelled = false;
    *place = NULL;
    pthread_mutex_lock(&audits->lock);
    struct audited *kept = find_kept(audits, key);
    while (kept && !kept->text && !cancelled) {
        struct timespec until = clock_in_ms(TICK_MS);
        pthread_cond_timedwait(&audits->ended, &audits->lock, &until);
        cancelled = request->cancelled && *request->cancelled;
        kept = find_kept(audits, key);
    }
    if (kept && kept->text && kept->until_ns < clock_now_ns()) {
        forget_audit(kept);
        kept = NULL;
    }
    known = cancelled || (kept && take_text(kept->text, verdict));
    if (cancelled)
        verdict->audit = (struct verdict_audit){.outcome = AUDIT_UNKNOWN, .reason = "cancelled"};
    if (!known && !kept)
        *place = take_place(audits, key);
    pthread_mutex_unlock(&audits->lock);
    return known;
}

static void give_place(struct audits *audits, struct audited *place, char *text, int64_t until_ns)
{
    pthread_mutex_lock(&audits->lock);
    place->until_ns = until_ns;
    if (text)
        place->text = text;
    else
        place->key[0] = '\0';
    pthread_cond_broadcast(&audits->ended);
    pthread_mutex_unlock(&audits->lock);
}

static bool load_audit(struct judge *judge, const char *key, struct verdict *verdict)
{
    char *text = load_text(judge, key);
    bool found = text && take_text(text, verdict);
    mem_free(text);
    return found;
}

/* False: it failed. */
static bool find_audit(struct judge *judge, const struct audit_request *request, bool on_gpu,
                       struct verdict *verdict)
{
    char whole_key[HASH_HEX_BYTES];
    char brief_key[HASH_HEX_BYTES];
    bool whole;
    bool again = true;
    make_key(request->reference_hash, on_gpu, 0, 0, whole_key);
    if (load_audit(judge, whole_key, verdict))
        return true;
    for (int try = 0; try < AUDIT_TRIES && again; try++) {
        make_key(request->reference_hash, on_gpu, audit_settings(request->settings)->budget_ms, try,
                 brief_key);
        again = load_audit(judge, brief_key, verdict);
    }
    if (again)
        return true;
    if (!make_audit(judge, request, verdict, &whole))
        return false;
    char *text = audit_text(verdict);
    store_text(judge, whole ? whole_key : brief_key, text);
    mem_free(text);
    return true;
}

void audits_get(struct judge *judge, const struct audit_request *request, struct verdict *verdict)
{
    char key[HASH_HEX_BYTES];
    struct audited *place;
    int64_t budget_ms = audit_settings(request->settings)->budget_ms;
    verdict->audit = (struct verdict_audit){.outcome = AUDIT_UNKNOWN};
    if (request->problem->cases_from)
        verdict->audit.reason = "it has cases, and no reference";
    else if (budget_ms == 0)
        verdict->audit.reason = "audit.budget_ms is 0";
    if (verdict->audit.reason)
        return;
    bool on_gpu = problem_audit_on_gpu(judge, request->problem, request->settings);
    make_key(request->reference_hash, on_gpu, budget_ms, 0, key);
    if (await_audit(&judge->audits, key, request, verdict, &place))
        return;
    int64_t until_ns = INT64_MAX;
    if (!find_audit(judge, request, on_gpu, verdict))
        until_ns = clock_now_ns() + AUDIT_AGAIN_MS * INT64_C(1000000);
    bool cancelled = request->cancelled && *request->cancelled;
    if (place)
        give_place(&judge->audits, place, cancelled ? NULL : audit_text(verdict), until_ns);
}

void audits_keep(struct judge *judge, const struct problem *problem,
                 const struct problem_audit *audit, double took_ms)
{
    char hash[HASH_HEX_BYTES];
    char key[HASH_HEX_BYTES];
    struct verdict verdict;
    verdict_init(&verdict);
    problem_audit_verdict(audit, &verdict);
    verdict.audit.took_ms = took_ms;
    char *text = audit_text(&verdict);
    reference_key(problem, judge->options.settings, hash);
    make_key(hash, problem_audit_on_gpu(judge, problem, judge->options.settings), 0, 0, key);
    store_text(judge, key, text);
    mem_free(text);
    verdict_deinit(&verdict);
}
