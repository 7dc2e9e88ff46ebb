#include "judge/verdict.h"

#include "base/clock.h"
#include "base/printable.h"
#include "base/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const status_names[] = {
#define X(symbol, name, meaning) name,
    VERDICT_STATUSES(X)
#undef X
};

static const char *const status_meanings[] = {
#define X(symbol, name, meaning) (meaning),
    VERDICT_STATUSES(X)
#undef X
};

static const char *const stage_names[] = {
#define X(symbol, name, meaning) name,
    VERDICT_STAGES(X)
#undef X
};

void verdict_init(struct verdict *verdict)
{
    *verdict = (struct verdict){.device = "cpu",
                                .timing_meaningful = true,
                                .own_time_fraction = NAN,
                                .own_launch_fraction = NAN,
                                .problem_id = "",
                                .problem_format = "",
                                .problem_hash = "",
                                .candidate_path = "",
                                .candidate_language = ""};
    verdict->id = arena_printf(&verdict->arena, "%016llx%016llx",
                               (unsigned long long)clock_secret(),
                               (unsigned long long)clock_secret());
}

void verdict_deinit(struct verdict *verdict)
{
    arena_deinit(&verdict->arena);
}

const char *verdict_status_name(enum verdict_status status)
{
    return status < STATUS_COUNT ? status_names[status] : "unknown";
}

const char *verdict_status_meaning(enum verdict_status status)
{
    return status_meanings[status];
}

const char *verdict_audit_name(enum audit_outcome outcome)
{
    static const char *const names[] = {NULL,
#define X(symbol, name, meaning) name,
                                        AUDIT_OUTCOMES(X)
#undef X
    };
    return names[outcome];
}

const char *verdict_stage_name(enum verdict_stage stage)
{
    return stage_names[stage];
}

enum verdict_status verdict_status_named(const char *name)
{
    int status = name ? 0 : STATUS_COUNT;
    while (status < STATUS_COUNT && strcmp(status_names[status], name) != 0)
        status++;
    return (enum verdict_status)status;
}

void verdict_init_unjudged(struct verdict *verdict, enum verdict_status status,
                           const char *class_name, const char *why)
{
    verdict_init(verdict);
    verdict->device = "";
    verdict_fail(verdict, status, class_name, why, NULL);
}

bool verdict_was_judged(const struct verdict *verdict)
{
    return verdict->device[0] != '\0';
}

/* Foreign text enters verdicts here: a candidate's messages, names and source lines. */
static const char *keep_text(struct arena *arena, const char *text)
{
    char *kept = arena_strdup(arena, text);
    printable_text(kept, true);
    return kept;
}

void verdict_fail(struct verdict *verdict, enum verdict_status status, const char *class_name,
                  const char *message, const char *excerpt)
{
    if (verdict->error_class)
        return;
    verdict->status = status;
    verdict->error_class = arena_strdup(&verdict->arena, class_name);
    verdict->error_message = keep_text(&verdict->arena, message);
    verdict->error_excerpt = excerpt && *excerpt ? keep_text(&verdict->arena, excerpt) : NULL;
}

void verdict_fail_text(struct verdict *verdict, enum verdict_status status, const char *class_name,
                       const char *text)
{
    char line[512];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
    verdict_fail(verdict, status, class_name, line, text);
}

static void add_finding(struct arena *arena, struct finding *findings, uint32_t *count,
                        const char *code, const char *format, va_list args)
{
    char text[512];
    for (uint32_t i = 0; i < *count; i++)
        if (strcmp(findings[i].code, code) == 0)
            return; /* one sentence for each code is enough */
    if (*count == VERDICT_FINDINGS)
        return;
    vsnprintf(text, sizeof text, format, args);
    findings[*count].code = arena_strdup(arena, code);
    findings[*count].evidence = keep_text(arena, text);
    (*count)++;
}

void verdict_violation(struct verdict *verdict, const char *code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_finding(&verdict->arena, verdict->violations, &verdict->violation_count, code, format,
                args);
    va_end(args);
    for (uint32_t i = 0; i < verdict->violation_count; i++)
        if (strcmp(verdict->violations[i].code, code) == 0)
            verdict_fail(verdict, STATUS_VIOLATION, "violation", verdict->violations[i].evidence,
                         NULL);
}

void verdict_warning(struct verdict *verdict, const char *code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_finding(&verdict->arena, verdict->warnings, &verdict->warning_count, code, format, args);
    va_end(args);
}

void verdict_output(struct verdict *verdict, const char *bytes, size_t count, size_t most,
                    uint64_t written)
{
    char *text = arena_alloc(&verdict->arena, count + 1);
    for (size_t i = 0; i < count; i++)
        text[i] = bytes[i] ? bytes[i] : '?';
    text[count] = '\0';
    printable_text(text, true);
    size_t kept = utf8_cut(text, count, most);
    text[kept] = '\0';
    verdict->output = kept > 0 ? text : NULL;
    verdict->output_cut_bytes = written - kept;
}

bool verdict_has_warning(const struct verdict *verdict, const char *code)
{
    for (uint32_t i = 0; i < verdict->warning_count; i++)
        if (strcmp(verdict->warnings[i].code, code) == 0)
            return true;
    return false;
}

void verdict_speedup(const struct verdict *verdict, struct interval *speedup)
{
    double value = 0;
    double low = 0;
    double high = 0;
    *speedup = (struct interval){.value = NAN, .low = 0, .high = INFINITY};
    if (verdict->case_count == 1)
        *speedup = verdict->cases[0].speedup;
    if (verdict->case_count <= 1)
        return;
    for (uint32_t i = 0; i < verdict->case_count; i++) {
        const struct interval *one = &verdict->cases[i].speedup;
        value += log(one->value);
        low += log(one->low);
        high += log(one->high);
        speedup->n += one->n;
    }
    speedup->value = exp(value / verdict->case_count);
    speedup->low = exp(low / verdict->case_count);
    speedup->high = exp(high / verdict->case_count);
}
