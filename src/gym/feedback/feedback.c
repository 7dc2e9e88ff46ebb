#include "gym/feedback/feedback.h"

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "gym/feedback/internal.h"
#include "gym/report/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define WORD_BYTES 64 /* of a class, a code */
#define HEADLINE_BYTES 900
#define SMALL_ERROR 1e-2 /* of the output's scale: rounding rather than a mistake */

/* The text for a status and a kind of it. `says`: the verdict's message follows. */
struct situation {
    int status;       /* enum verdict_status or enum gym_status */
    const char *kind; /* NULL: any */
    const char *headline, *advice;
    bool says;
};

/* The first row that fits is used, and the last one fits everything. */
static const struct situation situations[] = {
    {GYM_NO_CODE, NULL, "There was no code in the answer",
     "Write the whole source in one block, with its entry point, and close the block.", false},
    {STATUS_COMPILE_ERROR, NULL, "It does not compile",
     "Begin with the first error: later ones often follow from it. Use only headers and functions "
     "that the task allows.",
     true},
    {STATUS_LOAD_ERROR, NULL, "It compiles, but cannot be loaded",
     "Define the entry point with the name and signature that the task gives, and leave out what "
     "has to be installed.",
     true},
    {STATUS_RUNTIME_ERROR, "crash", "It compiles, but crashes when it runs",
     "Look for indices past the end, for sizes that are no multiple of a block or of a vector's "
     "width, and for alignment that is not guaranteed.",
     true},
    {STATUS_RUNTIME_ERROR, "killed", "It compiles, but its process was killed when it ran",
     "It may have asked for too much memory, or have made a call that is not allowed.", true},
    {STATUS_RUNTIME_ERROR, NULL, "It compiles, but fails when it runs",
     "Check shapes, types and launch configuration where the error points.", true},
    {STATUS_TIMEOUT, "compile_timeout", "Compiling it took too long",
     "Instantiate less, and unroll less.", true},
    {STATUS_TIMEOUT, NULL, "It took too long",
     "Look for a loop that does not end, for threads that wait for one another, and for work that "
     "grows faster than the task's.",
     true},
    {STATUS_OUT_OF_MEMORY, NULL, "It asked for more memory than it may have",
     "Work in place or in tiles instead of storing whole intermediate results.", true},
    {STATUS_WRONG, "form", "It runs, but its answer is not of the form that was asked for",
     "Return what the task says: the same number of outputs, each with the same shape and type, "
     "and write nowhere else.",
     true},
    {STATUS_WRONG, "not finite", "It runs, but its answer is wrong",
     "Look where NaN or infinity comes from: an overflow (subtract the maximum before exp), a "
     "division "
     "by zero, a value that was never set.",
     false},
    {STATUS_WRONG, "close", "It runs, but its answer is not exact enough",
     "The error is small: add up in a wider type or in another order, and do without fast "
     "approximations.",
     false},
    {STATUS_WRONG, NULL, "It runs, but its answer is wrong",
     "Check indices and strides, sizes that are no multiple of a block, what a reduction begins "
     "with, and that every element of the output is written in every call.",
     false},
    {STATUS_VIOLATION, NULL, "It was refused: it did something that no honest kernel does",
     "Compute the answer of each call from the inputs of that call, in code of your own, and "
     "before the call returns.",
     true},
    {STATUS_PASSED, "not timed", "It is correct", "Make it faster.", false},
    {STATUS_PASSED, "library", "It is correct, but library operators do most of its work",
     "Move that work into kernels of your own, and fuse what is done in several passes.", false},
    {STATUS_PASSED, "slower", "It is correct, but slower than the reference",
     "Read and write memory in order and only once, give all cores or multiprocessors work, and "
     "use vector instructions.",
     false},
    {STATUS_PASSED, NULL, "It is correct",
     "Keep what works. What is left is in the memory traffic, in the use of all cores or "
     "multiprocessors, and in the passes that can be fused.",
     false},
    {STATUS_UNSUPPORTED, NULL, "It cannot be judged here",
     "This machine lacks what such code needs: another language, or another machine.", true},
    {STATUS_INFRASTRUCTURE_ERROR, NULL,
     "It could not be judged: the judge failed, not the candidate",
     "This says nothing of the code.", false},
    {STATUS_CANCELLED, NULL, "It was not judged: somebody asked to stop",
     "This says nothing of the code.", false},
    {GYM_UNKNOWN, NULL, "It was not judged", "This says nothing of the code.", false},
};

/* A verdict, and values of it that are used several times. */
struct view {
    const struct verdict *verdict;   /* an empty one where there is none */
    const struct mismatch *mismatch; /* NULL: none, or it is correct */
    bool error;                      /* whether its error may be shown */
    int status;                      /* enum verdict_status or enum gym_status */
    bool correct, timed;
    struct interval speedup;
};

static void put_line(struct buf *out, const char *text, size_t max_bytes)
{
    feedback_line(out, text, strlen(text), max_bytes, PATHS_CUT);
}

/* Whether to show the error. Its message may reveal what the other fields keep secret: that of a
 * wrong value has the expected one and the number of elements of a drawn size, that of a failed
 * judge may quote the reference. */
static bool shows_error(const struct verdict *verdict)
{
    const char *message = verdict->error_message;
    if (!verdict->error_class || verdict->status == STATUS_INFRASTRUCTURE_ERROR ||
        verdict->status == STATUS_CANCELLED)
        return false;
    return verdict->status != STATUS_WRONG ||
           !(verdict->mismatch.any || !message || strstr(message, " instead of "));
}

static void view_init(struct view *view, const struct verdict *verdict, int status)
{
    bool correct = status == STATUS_PASSED && verdict->correct;
    *view = (struct view){.verdict = verdict, .status = status, .correct = correct};
    verdict_speedup(verdict, &view->speedup);
    if (!correct && verdict->mismatch.any)
        view->mismatch = &verdict->mismatch;
    view->error = shows_error(verdict);
    view->timed = correct && feedback_is_timed(verdict);
}

static const char *kind_of(const struct view *view)
{
    const struct verdict *verdict = view->verdict;
    if (view->status == STATUS_PASSED) {
        if (verdict_has_warning(verdict, "H41"))
            return "library";
        return !view->timed ? "not timed" : view->speedup.value < 1 ? "slower" : "faster";
    }
    if (view->status == STATUS_WRONG) {
        if (!view->mismatch)
            return view->error ? "form" : "unknown";
        if (!isfinite(view->mismatch->got))
            return "not finite";
        return verdict->max_relative <= SMALL_ERROR ? "close" : "far";
    }
    return view->error ? verdict->error_class : "";
}

static const struct situation *situation_of(const struct view *view)
{
    const char *kind = kind_of(view);
    const struct situation *row = situations;
    while (row->status != GYM_UNKNOWN &&
           (row->status != view->status || (row->kind && strcmp(row->kind, kind) != 0)))
        row++;
    return row;
}

/* What may be said of a mismatch: of what was expected only the power of ten. */
struct mismatch_words {
    char got[FEEDBACK_NAME_BYTES], expected[FEEDBACK_NAME_BYTES], error[FEEDBACK_NAME_BYTES];
    double relative; /* the largest error, of the output's scale; NAN: unknown, or over the finite
                        elements only */
};

static void put_magnitude(double value, char text[FEEDBACK_NAME_BYTES])
{
    if (!isfinite(value))
        snprintf(text, FEEDBACK_NAME_BYTES, "NaN or infinity");
    else if (value == 0)
        snprintf(text, FEEDBACK_NAME_BYTES, "zero");
    else
        snprintf(text, FEEDBACK_NAME_BYTES, "about 1e%d", (int)floor(log10(fabs(value))));
}

static struct mismatch_words words_of(const struct view *view)
{
    const struct mismatch *mismatch = view->mismatch;
    bool finite = isfinite(mismatch->got);
    struct mismatch_words words = {.relative = finite ? view->verdict->max_relative : NAN};
    if (finite)
        snprintf(words.got, sizeof words.got, "%.6g", mismatch->got);
    else
        put_magnitude(mismatch->got, words.got);
    put_magnitude(mismatch->expected, words.expected);
    put_magnitude(words.relative, words.error);
    return words;
}

/* A line of what the candidate or a tool says, or `otherwise` where it says nothing. */
static json_t *line_or(const char *text, size_t max_bytes, const char *otherwise)
{
    json_t *line = feedback_line_json(text, max_bytes);
    return json_is_null(line) ? json_text(otherwise) : line;
}

static json_t *mismatch_json(const struct view *view)
{
    if (!view->mismatch)
        return json_null();
    const struct mismatch_words words = words_of(view);
    json_t *object = json_object();
    json_put(object, "output", line_or(view->mismatch->output, FEEDBACK_NAME_BYTES, "output"));
    json_put(object, "index", json_integer((json_int_t)view->mismatch->index));
    json_put(object, "got", json_text(words.got));
    json_put(object, "magnitude", json_text(words.expected));
    json_put(object, "error", isfinite(words.relative) ? json_text(words.error) : json_null());
    json_put(object, "looks_like",
             feedback_line_json(view->mismatch->looks, FEEDBACK_SENTENCE_BYTES));
    return object;
}

static void put_mismatch(struct buf *out, const struct view *view)
{
    const struct mismatch *mismatch = view->mismatch;
    uint32_t trials = view->verdict->trials, passed = view->verdict->trials_passed;
    if (mismatch) {
        const struct mismatch_words words = words_of(view);
        const char *output = mismatch->output;
        buf_printf(out, ": element %" PRIu64 " of ", mismatch->index);
        put_line(out, output && *output ? output : "its output", FEEDBACK_NAME_BYTES);
        buf_printf(out, " is %s, and %s was expected", words.got, words.expected);
        if (isfinite(words.relative) && words.relative > 0)
            buf_printf(out, "; the largest error is %s of the output's scale", words.error);
        if (mismatch->looks && *mismatch->looks) {
            buf_puts(out, "; the error: ");
            put_line(out, mismatch->looks, FEEDBACK_SENTENCE_BYTES);
        }
    }
    if (trials > 0 && passed < trials)
        buf_printf(out, "; trials passed: %u of %u", passed, trials);
    else if (trials > 0)
        buf_puts(out, "; all trials passed, a call that was timed did not");
}

static void put_timing(struct buf *out, const struct view *view)
{
    const struct interval *speedup = &view->speedup;
    const char *note = view->verdict->timing_note;
    if (view->verdict->trials > 0)
        buf_printf(out, "; trials passed: %u", view->verdict->trials);
    if (view->timed)
        buf_printf(out, "; %.4g times the reference's speed", speedup->value);
    else
        buf_puts(out, "; its speed is not known");
    if (view->timed && speedup->low > 0 && speedup->high > 0 && isfinite(speedup->high))
        buf_printf(out, " (95 %% interval %.4g to %.4g)", speedup->low, speedup->high);
    if (!view->timed && note) {
        buf_puts(out, ": ");
        put_line(out, note, FEEDBACK_SENTENCE_BYTES);
    }
}

/* Evidence is clearer than a message that repeats it. */
static void put_message(struct buf *out, const struct view *view)
{
    const struct verdict *verdict = view->verdict;
    const char *text = view->error ? verdict->error_message : NULL;
    if (view->status == STATUS_VIOLATION && verdict->violation_count > 0)
        text = verdict->violations[0].evidence;
    if (text && *text)
        buf_puts(out, ": ");
    if (text)
        put_line(out, text, FEEDBACK_SENTENCE_BYTES);
}

static json_t *headline_json(const struct view *view, const struct situation *situation)
{
    struct buf out;
    buf_init(&out, HEADLINE_BYTES);
    buf_puts(&out, situation->headline);
    if (situation->says)
        put_message(&out, view);
    if (view->status == STATUS_WRONG)
        put_mismatch(&out, view);
    if (view->status == STATUS_PASSED)
        put_timing(&out, view);
    if (out.data[out.len - 1] != '.')
        buf_puts(&out, ".");
    json_t *value = json_text(out.data);
    buf_deinit(&out);
    return value;
}

/* The candidate's file name in compiler output and tracebacks. */
static const char *file_name(const struct verdict *verdict)
{
    const char *name = file_basename(verdict->candidate_path);
    return *name ? name : NULL;
}

static json_t *error_json(const struct view *view, const char *source)
{
    const struct verdict *verdict = view->verdict;
    const char *message = verdict->error_message, *excerpt = verdict->error_excerpt;
    if (!view->error)
        return json_null();
    json_t *object = json_object();
    json_t *said = feedback_line_json(message, FEEDBACK_SENTENCE_BYTES);
    char *text = feedback_excerpt(excerpt   ? excerpt
                                  : message ? message
                                            : "",
                                  source, file_name(verdict), FEEDBACK_EXCERPT_BYTES);
    const char *said_text = json_is_string(said) ? json_string_value(said) : "";
    json_put(object, "class",
             line_or(verdict->error_class, WORD_BYTES, gym_status_name(view->status)));
    json_put(object, "excerpt",
             *text && strcmp(text, said_text) != 0 ? json_text(text) : json_null());
    json_put(object, "message", json_is_null(said) ? json_text("no message") : said);
    mem_free(text);
    return object;
}

static json_t *findings_json(const struct finding *findings, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++) {
        json_t *code = feedback_line_json(findings[i].code, WORD_BYTES);
        json_t *evidence = feedback_line_json(findings[i].evidence, FEEDBACK_SENTENCE_BYTES);
        if (json_is_string(code) && json_is_string(evidence))
            json_array_append_new(list,
                                  json_pack("{s:O, s:O}", "code", code, "evidence", evidence));
        json_decref(code);
        json_decref(evidence);
    }
    return list;
}

static json_t *facts_of(const struct view *view, const char *source)
{
    const struct verdict *verdict = view->verdict;
    const struct situation *situation = situation_of(view);
    json_t *facts = json_object();
    json_put(facts, "status", json_text(gym_status_name(view->status)));
    json_put(facts, "headline", headline_json(view, situation));
    json_put(facts, "compiled", json_boolean(verdict->compiled));
    json_put(facts, "correct", json_boolean(view->correct));
    json_put(facts, "trials", json_integer(verdict->trials));
    json_put(facts, "passed", json_integer(verdict->trials_passed));
    json_put(facts, "error", error_json(view, source));
    json_put(facts, "mismatch", mismatch_json(view));
    json_put(facts, "timing", view->correct ? feedback_timing(verdict) : json_null());
    json_put(facts, "kernels", feedback_kernels(verdict));
    json_put(facts, "profile_text", feedback_profile(verdict));
    json_put(facts, "output", feedback_output(verdict));
    json_put(facts, "violations", findings_json(verdict->violations, verdict->violation_count));
    json_put(facts, "warnings", findings_json(verdict->warnings, verdict->warning_count));
    json_put(facts, "advice", json_text(situation->advice));
    return facts;
}

json_t *feedback_facts(const struct verdict *verdict, const char *source)
{
    struct view view;
    struct verdict none;
    if (verdict) {
        view_init(&view, verdict, (int)verdict->status);
        return facts_of(&view, source);
    }
    verdict_init(&none);
    view_init(&view, &none, source ? GYM_UNKNOWN : GYM_NO_CODE);
    json_t *facts = facts_of(&view, source);
    verdict_deinit(&none);
    return facts;
}
