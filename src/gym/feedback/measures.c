/* The valid measurements of a candidate. */
#include "gym/feedback/internal.h"

#include "base/json.h"
#include "base/mem.h"
#include "gym/feedback/feedback.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CASES 16

const char *feedback_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

double feedback_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

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

bool feedback_is_timed(const json_t *timing)
{
    return !json_is_false(json_object_get(timing, "meaningful")) &&
           is_positive(feedback_number(timing, "speedup")) &&
           is_positive(feedback_number(json_object_get(timing, "candidate"), "median")) &&
           is_positive(feedback_number(json_object_get(timing, "reference"), "median"));
}

/* Of a timed size; NULL: its numbers are missing. */
static json_t *case_json(const json_t *timed)
{
    double candidate = feedback_number(json_object_get(timed, "candidate"), "median");
    double reference = feedback_number(json_object_get(timed, "reference"), "median");
    double speedup = feedback_number(timed, "speedup");
    json_t *sizes = feedback_line_json(feedback_text(timed, "sizes"), FEEDBACK_NAME_BYTES);
    if (json_is_null(sizes) || !is_positive(candidate) || !is_positive(reference) ||
        !is_positive(speedup)) {
        json_decref(sizes);
        return NULL;
    }
    json_t *object = json_object();
    json_put(object, "sizes", sizes);
    json_put(object, "candidate_ms", json_real(candidate));
    json_put(object, "reference_ms", json_real(reference));
    json_put(object, "speedup", json_real(speedup));
    return object;
}

/* Timed sizes are public in the problem; drawn sizes are never timed. */
static json_t *cases_json(const json_t *timing)
{
    const json_t *cases = json_object_get(timing, "cases");
    size_t count = json_array_size(cases);
    json_t *list = json_array();
    for (size_t i = 0; i < count && json_array_size(list) < CASES; i++) {
        json_t *object = case_json(json_array_get(cases, i));
        if (object)
            json_array_append_new(list, object);
    }
    json_t *only = count == 0 ? case_json(timing) : NULL;
    if (only)
        json_array_append_new(list, only);
    return list;
}

json_t *feedback_timing(const json_t *timing)
{
    const json_t *interval = json_object_get(timing, "speedup_interval");
    const json_t *low = json_array_get(interval, 0);
    const json_t *high = json_array_get(interval, 1);
    if (!feedback_is_timed(timing))
        return json_null();
    bool bounded = json_is_number(low) && json_is_number(high);
    double floor = feedback_number(timing, "roofline_fraction");
    json_t *object = json_object();
    json_put(object, "candidate_ms",
             json_real(feedback_number(json_object_get(timing, "candidate"), "median")));
    json_put(object, "reference_ms",
             json_real(feedback_number(json_object_get(timing, "reference"), "median")));
    json_put(object, "speedup", json_real(feedback_number(timing, "speedup")));
    json_put(object, "low", bounded ? json_real(json_number_value(low)) : json_null());
    json_put(object, "high", bounded ? json_real(json_number_value(high)) : json_null());
    json_put(object, "roofline_fraction", is_positive(floor) ? json_real(floor) : json_null());
    json_put(object, "note",
             feedback_line_json(feedback_text(timing, "note"), FEEDBACK_SENTENCE_BYTES));
    json_put(object, "cases", cases_json(timing));
    return object;
}

static double kernel_us(const json_t *kernels, size_t i)
{
    double time_us = feedback_number(json_array_get(kernels, i), "time_us");
    return is_positive(time_us) ? time_us : 0;
}

/* The most expensive kernel after number `last`, by time and then by index; the count if none is
 * left. */
static size_t next_kernel(const json_t *kernels, size_t last)
{
    size_t count = json_array_size(kernels);
    size_t best = count;
    for (size_t i = 0; i < count; i++) {
        double time_us = kernel_us(kernels, i);
        double bound_us = last < count ? kernel_us(kernels, last) : INFINITY;
        bool behind = time_us < bound_us || (time_us == bound_us && i > last);
        if (behind && (best == count || time_us > kernel_us(kernels, best)))
            best = i;
    }
    return best;
}

json_t *feedback_kernels(const json_t *profile)
{
    const json_t *kernels = json_object_get(profile, "kernels");
    size_t count = json_array_size(kernels);
    double all_us = feedback_number(profile, "time_us");
    json_t *list = json_array();
    double sum_us = 0;
    for (size_t i = 0; i < count; i++)
        sum_us += kernel_us(kernels, i);
    all_us = is_positive(all_us) && all_us >= sum_us ? all_us : sum_us;
    size_t at = next_kernel(kernels, count);
    for (int i = 0; i < FEEDBACK_KERNELS && at < count; i++, at = next_kernel(kernels, at)) {
        const json_t *kernel = json_array_get(kernels, at);
        double time_us = kernel_us(kernels, at);
        json_t *name = feedback_line_json(feedback_text(kernel, "name"), FEEDBACK_NAME_BYTES);
        json_t *object = json_object();
        json_put(object, "name", json_is_null(name) ? json_text("?") : name);
        json_put(object, "time_us", json_number(time_us));
        json_put(object, "share", json_number(all_us > 0 ? time_us / all_us : 0));
        json_put(object, "own", json_boolean(json_is_true(json_object_get(kernel, "own"))));
        json_array_append_new(list, object);
    }
    return list;
}

json_t *feedback_profile(const json_t *profile)
{
    const char *text = feedback_text(profile, "text");
    if (!text || !*text)
        return json_null();
    char *lines = feedback_lines(text, FEEDBACK_EXCERPT_BYTES);
    json_t *value = *lines ? json_text(lines) : json_null();
    mem_free(lines);
    return value;
}
