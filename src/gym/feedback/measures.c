/* The valid measurements of a candidate. */
#include "gym/feedback/internal.h"

#include "base/json.h"
#include "base/mem.h"
#include "gym/feedback/feedback.h"
#include "judge/profile_text.h"

#include <math.h>
#include <string.h>

static bool is_positive(double value)
{
    return isfinite(value) && value > 0;
}

/* One clean line; null without a text. */
json_t *feedback_line_json(const char *text, size_t max_bytes)
{
    struct buf line;
    if (!text || !*text)
        return json_null();
    buf_init(&line, max_bytes + sizeof "...");
    feedback_line(&line, text, strlen(text), max_bytes, PATHS_CUT);
    json_t *value = json_text(line.data);
    buf_deinit(&line);
    return value;
}

bool feedback_is_timed(const struct verdict *verdict)
{
    struct interval speedup;
    verdict_speedup(verdict, &speedup);
    return verdict->timing_meaningful && verdict->case_count > 0 && is_positive(speedup.value) &&
           is_positive(verdict->cases[0].candidate.median) &&
           is_positive(verdict->cases[0].reference.median);
}

/* Timed sizes are public in the problem; drawn sizes are never timed. */
static json_t *cases_json(const struct verdict *verdict)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < verdict->case_count; i++) {
        const struct timed_case *timed = &verdict->cases[i];
        json_t *sizes = feedback_line_json(timed->sizes, FEEDBACK_NAME_BYTES);
        if (!json_is_null(sizes) && is_positive(timed->candidate.median) &&
            is_positive(timed->reference.median) && is_positive(timed->speedup.value))
            json_array_append_new(list, json_pack("{s:O, s:f, s:f, s:f}", "sizes", sizes,
                                                  "candidate_ms", timed->candidate.median,
                                                  "reference_ms", timed->reference.median,
                                                  "speedup", timed->speedup.value));
        json_decref(sizes);
    }
    return list;
}

json_t *feedback_timing(const struct verdict *verdict)
{
    const struct timed_case *first = &verdict->cases[0];
    struct interval speedup;
    if (!feedback_is_timed(verdict))
        return json_null();
    verdict_speedup(verdict, &speedup);
    bool bounded = isfinite(speedup.low) && isfinite(speedup.high);
    json_t *object = json_object();
    json_put(object, "candidate_ms", json_real(first->candidate.median));
    json_put(object, "reference_ms", json_real(first->reference.median));
    json_put(object, "speedup", json_real(speedup.value));
    json_put(object, "low", bounded ? json_real(speedup.low) : json_null());
    json_put(object, "high", bounded ? json_real(speedup.high) : json_null());
    double roofline = is_positive(first->floor_ms) ? first->floor_ms / first->candidate.median
                                                   : NAN;
    json_put(object, "roofline_fraction", json_number(roofline));
    json_put(object, "roofline_percent", json_number(100 * roofline));
    json_put(object, "note", feedback_line_json(verdict->timing_note, FEEDBACK_SENTENCE_BYTES));
    json_put(object, "cases", cases_json(verdict));
    return object;
}

static double kernel_us(const struct verdict *verdict, uint32_t i)
{
    double time_us = verdict->kernels[i].time_us;
    return is_positive(time_us) ? time_us : 0;
}

/* The most expensive kernel after number `last`, by time and then by index; the count if none is
 * left. */
static uint32_t next_kernel(const struct verdict *verdict, uint32_t last)
{
    uint32_t count = verdict->kernel_count, best = count;
    for (uint32_t i = 0; i < count; i++) {
        double time_us = kernel_us(verdict, i);
        double bound_us = last < count ? kernel_us(verdict, last) : INFINITY;
        bool behind = time_us < bound_us || (time_us == bound_us && i > last);
        if (behind && (best == count || time_us > kernel_us(verdict, best)))
            best = i;
    }
    return best;
}

json_t *feedback_kernels(const struct verdict *verdict)
{
    uint32_t count = verdict->kernel_count, at = next_kernel(verdict, count);
    double all_us = verdict->launched.time_us, sum_us = 0;
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++)
        sum_us += kernel_us(verdict, i);
    all_us = is_positive(all_us) && all_us >= sum_us ? all_us : sum_us;
    for (int i = 0; i < FEEDBACK_KERNELS && at < count; i++, at = next_kernel(verdict, at)) {
        double time_us = kernel_us(verdict, at);
        json_t *name = feedback_line_json(verdict->kernels[at].name, FEEDBACK_NAME_BYTES);
        json_t *object = json_object();
        json_put(object, "name", json_is_null(name) ? json_text("?") : name);
        json_put(object, "time_us", json_number(time_us));
        json_put(object, "share", json_number(all_us > 0 ? time_us / all_us : 0));
        json_put(object, "own", json_boolean(verdict->kernels[at].own));
        json_put(object, "occupancy_percent", json_number(100 * verdict->kernels[at].occupancy));
        json_put(object, "limit",
                 feedback_line_json(verdict->kernels[at].limit, FEEDBACK_NAME_BYTES));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *lines_json(const char *text, size_t max_bytes)
{
    char *lines = feedback_lines(text, max_bytes);
    json_t *value = *lines ? json_text(lines) : json_null();
    mem_free(lines);
    return value;
}

json_t *feedback_profile(const struct verdict *verdict)
{
    struct buf text;
    if (verdict->launched.calls == 0)
        return json_null();
    buf_init(&text, PROFILE_TEXT_BYTES);
    profile_text(verdict, PROFILE_COLUMNS, &text);
    json_t *value = lines_json(text.data, FEEDBACK_EXCERPT_BYTES);
    buf_deinit(&text);
    return value;
}

json_t *feedback_output(const struct verdict *verdict)
{
    return verdict->output ? lines_json(verdict->output, FEEDBACK_OUTPUT_BYTES) : json_null();
}
