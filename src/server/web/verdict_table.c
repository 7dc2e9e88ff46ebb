#include "server/web/verdict_table.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "judge/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#define DEVICES_MOST 256
#define NAME_BYTES 256
#define FINDINGS_BYTES ((size_t)64 << 10) /* of one verdict's violations */

struct leader {
    char *id, *hash, *language, *worker;
    double speedup, low, high;
    int64_t ended_ms;
};

struct problem_record {
    char *name;
    uint64_t evaluations, statuses[STATUS_COUNT + 1]; /* the last: unknown */
    struct leader leaders[VERDICT_LEADERS + 1];       /* the fastest first; one is spare */
    size_t count;
    UT_hash_handle hh;
};

struct violation_record {
    char *id, *problem, *worker, *status;
    json_t *findings; /* of the verdict: violations, untrusted but small */
    int64_t ended_ms;
};

struct device_record {
    char *name, *worker;
    json_t *clocks;
    int64_t ended_ms;
    UT_hash_handle hh;
};

struct verdict_table {
    struct problem_record *problems;
    struct device_record *devices;
    struct violation_record violations[VERDICT_VIOLATIONS]; /* the newest first */
    size_t violation_count;
};

struct verdict_table *verdict_table_new(void)
{
    return mem_alloc(sizeof(struct verdict_table));
}

static void leader_deinit(struct leader *leader)
{
    mem_free(leader->id);
    mem_free(leader->hash);
    mem_free(leader->language);
    mem_free(leader->worker);
    *leader = (struct leader){0};
}

static void violation_deinit(struct violation_record *violation)
{
    mem_free(violation->id);
    mem_free(violation->problem);
    mem_free(violation->worker);
    mem_free(violation->status);
    json_decref(violation->findings);
    *violation = (struct violation_record){0};
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
void verdict_table_free(struct verdict_table *table)
{
    struct problem_record *problem, *next_problem;
    struct device_record *device, *next_device;
    if (!table)
        return;
    HASH_ITER (hh, table->problems, problem, next_problem) {
        HASH_DEL(table->problems, problem);
        for (size_t i = 0; i < problem->count; i++)
            leader_deinit(&problem->leaders[i]);
        mem_free(problem->name);
        mem_free(problem);
    }
    HASH_ITER (hh, table->devices, device, next_device) {
        HASH_DEL(table->devices, device);
        json_decref(device->clocks);
        mem_free(device->name);
        mem_free(device->worker);
        mem_free(device);
    }
    for (size_t i = 0; i < table->violation_count; i++)
        violation_deinit(&table->violations[i]);
    mem_free(table);
}

/* --- adding ----------------------------------------------------------------------------------- */

/* NULL: there are too many. */
/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static struct problem_record *problem_of(struct verdict_table *table, const char *name)
{
    struct problem_record *problem;
    HASH_FIND_STR(table->problems, name, problem);
    if (problem || HASH_COUNT(table->problems) >= LIMIT_WEB_PROBLEMS)
        return problem;
    problem = mem_alloc(sizeof *problem);
    problem->name = mem_strdup(name);
    HASH_ADD_KEYPTR(hh, table->problems, problem->name, strlen(problem->name), problem);
    return problem;
}

static void remove_leader(struct problem_record *problem, size_t at)
{
    leader_deinit(&problem->leaders[at]);
    problem->count--;
    memmove(problem->leaders + at, problem->leaders + at + 1,
            (problem->count - at) * sizeof *problem->leaders);
}

/* Whether a is before b: faster, then earlier. */
static bool leads(const struct leader *a, const struct leader *b)
{
    return a->speedup != b->speedup ? a->speedup > b->speedup : a->ended_ms < b->ended_ms;
}

/* Takes it. Of one candidate, or one job, the verdict that ended last counts. */
static void add_leader(struct problem_record *problem, struct leader *leader)
{
    for (size_t i = problem->count; i-- > 0;) {
        struct leader *other = &problem->leaders[i];
        bool same = *leader->hash && strcmp(other->hash, leader->hash) == 0;
        if (!same && strcmp(other->id, leader->id) != 0)
            continue;
        if (other->ended_ms > leader->ended_ms) {
            leader_deinit(leader);
            return;
        }
        remove_leader(problem, i);
    }
    size_t at = problem->count;
    while (at > 0 && leads(leader, &problem->leaders[at - 1]))
        at--;
    memmove(problem->leaders + at + 1, problem->leaders + at,
            (problem->count - at) * sizeof *problem->leaders);
    problem->leaders[at] = *leader;
    if (++problem->count > VERDICT_LEADERS)
        leader_deinit(&problem->leaders[--problem->count]);
}

static char *text_of(struct json_slice object, const char *name)
{
    char *text = json_slice_text(json_scan_member(object, name));
    if (text && strlen(text) >= NAME_BYTES)
        text[0] = '\0';
    return text ? text : mem_strdup("");
}

static bool is_fast(const struct problem_record *problem, double speedup)
{
    return problem->count < VERDICT_LEADERS ||
           speedup >= problem->leaders[problem->count - 1].speedup;
}

/* A candidate that is too slow for the list costs no copy of its texts. */
static void consider_leader(struct problem_record *problem, const struct verdict_entry *entry)
{
    struct json_slice candidate = json_scan_member(entry->verdict, "candidate");
    struct json_slice timing = json_scan_member(entry->verdict, "timing");
    double speedup = json_slice_number(json_scan_member(timing, "speedup"));
    struct json_slice meaningful = json_scan_member(timing, "meaningful");
    if (!(speedup > 0) || json_slice_is(meaningful, "false") || !is_fast(problem, speedup))
        return;
    struct leader leader = {.id = mem_strdup(entry->id),
                            .worker = mem_strdup(entry->worker),
                            .hash = text_of(candidate, "hash"),
                            .language = text_of(candidate, "language"),
                            .speedup = speedup,
                            .low = NAN,
                            .high = NAN,
                            .ended_ms = entry->ended_ms};
    struct json_slice interval = json_scan_member(timing, "speedup_interval");
    char bounds[128] = "";
    if (interval.text && interval.count < sizeof bounds && *interval.text == '[') {
        char *end;
        memcpy(bounds, interval.text + 1, interval.count - 1);
        leader.low = strtod(bounds, &end);
        end += strspn(end, ", ");
        leader.high = strtod(end, NULL);
    }
    add_leader(problem, &leader);
}

static void add_violation(struct verdict_table *table, const struct verdict_entry *entry,
                          const char *problem, struct json_slice findings)
{
    size_t at = table->violation_count, i = 0;
    if (findings.count > FINDINGS_BYTES)
        return;
    while (at > 0 && table->violations[at - 1].ended_ms <= entry->ended_ms)
        at--;
    while (i < table->violation_count && strcmp(table->violations[i].id, entry->id) != 0)
        i++;
    if (at == VERDICT_VIOLATIONS || i < table->violation_count)
        return;
    if (table->violation_count == VERDICT_VIOLATIONS)
        violation_deinit(&table->violations[--table->violation_count]);
    memmove(table->violations + at + 1, table->violations + at,
            (table->violation_count++ - at) * sizeof *table->violations);
    table->violations[at] =
        (struct violation_record){.id = mem_strdup(entry->id),
                                  .problem = mem_strdup(problem),
                                  .worker = mem_strdup(entry->worker),
                                  .status = text_of(entry->verdict, "status"),
                                  .findings = json_loadb(findings.text, findings.count, 0, NULL),
                                  .ended_ms = entry->ended_ms};
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void set_device(struct verdict_table *table, const struct verdict_entry *entry,
                       struct json_slice clocks)
{
    struct device_record *device;
    char *name = text_of(entry->verdict, "device");
    char *key = mem_printf("%s %s", entry->worker, name);
    mem_free(name);
    HASH_FIND_STR(table->devices, key, device);
    if (!device && HASH_COUNT(table->devices) < DEVICES_MOST) {
        device = mem_alloc(sizeof *device);
        device->name = mem_strdup(key);
        HASH_ADD_KEYPTR(hh, table->devices, device->name, strlen(device->name), device);
    }
    if (device && entry->ended_ms >= device->ended_ms && clocks.count < FINDINGS_BYTES) {
        json_decref(device->clocks);
        mem_free(device->worker);
        device->worker = mem_strdup(entry->worker);
        device->clocks = json_loadb(clocks.text, clocks.count, 0, NULL);
        device->ended_ms = entry->ended_ms;
    }
    mem_free(key);
}

static bool has_findings(struct json_slice list)
{
    return list.text && *list.text == '[' && memchr(list.text, '{', list.count);
}

void verdict_table_add(struct verdict_table *table, const struct verdict_entry *entry)
{
    char *name = text_of(json_scan_member(entry->verdict, "problem"), "id");
    char *word = text_of(entry->verdict, "status");
    struct json_slice violations = json_scan_member(json_scan_member(entry->verdict, "integrity"),
                                                    "violations");
    struct json_slice clocks = json_scan_member(json_scan_member(entry->verdict, "timing"),
                                                "clocks");
    struct problem_record *problem = *name ? problem_of(table, name) : NULL;
    int status = 0;
    while (status < STATUS_COUNT && strcmp(verdict_status_name(status), word) != 0)
        status++;
    if (problem) {
        problem->evaluations++;
        problem->statuses[status]++;
        if (status == STATUS_PASSED)
            consider_leader(problem, entry);
    }
    if (has_findings(violations))
        add_violation(table, entry, name, violations);
    if (clocks.text && *clocks.text == '{')
        set_device(table, entry, clocks);
    mem_free(word);
    mem_free(name);
}

/* --- showing ---------------------------------------------------------------------------------- */

static json_t *leader_json(const struct leader *leader)
{
    json_t *object = json_object(), *interval = json_array();
    json_array_append_new(interval, json_number(leader->low));
    json_array_append_new(interval, json_number(leader->high));
    json_put(object, "id", json_text(leader->id));
    json_put(object, "hash", json_text(leader->hash));
    json_put(object, "language", json_text(leader->language));
    json_put(object, "worker", json_text(leader->worker));
    json_put(object, "speedup", json_number(leader->speedup));
    json_put(object, "interval", interval);
    json_put(object, "ended_at", json_time(leader->ended_ms));
    return object;
}

static json_t *problem_json(const struct problem_record *problem)
{
    json_t *object = json_object();
    json_put(object, "problem", json_text(problem->name));
    json_put(object, "evaluations", json_integer((json_int_t)problem->evaluations));
    json_put(object, "passed", json_integer((json_int_t)problem->statuses[STATUS_PASSED]));
    return object;
}

static int compare_names(const void *a, const void *b)
{
    const struct problem_record *const *one = a, *const *other = b;
    return strverscmp((*one)->name, (*other)->name);
}

json_t *verdict_table_problems(const struct verdict_table *table, const char *search, size_t skip,
                               size_t limit, size_t *matched)
{
    json_t *list = json_array();
    size_t count = 0;
    const struct problem_record **found = mem_alloc((HASH_COUNT(table->problems) + (size_t)1) *
                                                    sizeof(void *));
    for (const struct problem_record *one = table->problems; one; one = one->hh.next)
        if (!search || !*search || strcasestr(one->name, search))
            found[count++] = one;
    qsort(found, count, sizeof(void *), compare_names);
    for (size_t i = skip; i < count && i - skip < limit; i++) {
        json_t *object = problem_json(found[i]);
        json_put(object, "best",
                 found[i]->count ? leader_json(&found[i]->leaders[0]) : json_null());
        json_array_append_new(list, object);
    }
    mem_free(found);
    *matched = count;
    return list;
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
json_t *verdict_table_problem(const struct verdict_table *table, const char *name)
{
    const struct problem_record *problem;
    HASH_FIND_STR(table->problems, name, problem);
    if (!problem)
        return NULL;
    json_t *object = problem_json(problem), *statuses = json_object(), *list = json_array();
    for (int i = 0; i < STATUS_COUNT; i++)
        if (problem->statuses[i])
            json_put(statuses, verdict_status_name(i),
                     json_integer((json_int_t)problem->statuses[i]));
    for (size_t i = 0; i < problem->count; i++)
        json_array_append_new(list, leader_json(&problem->leaders[i]));
    json_put(object, "statuses", statuses);
    json_put(object, "candidates", list);
    return object;
}

json_t *verdict_table_violations(const struct verdict_table *table, size_t limit)
{
    json_t *list = json_array();
    for (size_t i = 0; i < table->violation_count && i < limit; i++) {
        const struct violation_record *one = &table->violations[i];
        json_t *object = json_object();
        json_put(object, "id", json_text(one->id));
        json_put(object, "problem", json_text(one->problem));
        json_put(object, "worker", json_text(one->worker));
        json_put(object, "status", json_text(one->status));
        json_put(object, "findings", one->findings ? json_incref(one->findings) : json_array());
        json_put(object, "ended_at", json_time(one->ended_ms));
        json_array_append_new(list, object);
    }
    return list;
}

json_t *verdict_table_devices(const struct verdict_table *table)
{
    json_t *list = json_array();
    for (const struct device_record *one = table->devices; one; one = one->hh.next) {
        json_t *object = json_object();
        json_put(object, "device", json_text(one->name + strlen(one->worker) + 1));
        json_put(object, "worker", json_text(one->worker));
        json_put(object, "clocks", one->clocks ? json_incref(one->clocks) : json_null());
        json_put(object, "ended_at", json_time(one->ended_ms));
        json_array_append_new(list, object);
    }
    return list;
}
