/* report_episodes: the models' texts, as blocks of JSON that browsers neither run nor show; page.js
 * reads one when its problem is opened. */
#include "gym/report/page.h"

#include "base/array.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "gym/report/internal.h"

#include <string.h>

#define KERNELS 5
/* Room for the rest of the page, and for one more episode. */
#define PAGE_RESERVE_BYTES (LIMIT_REPORT_BYTES / 4)

/* Text cut at the limit, at a character. */
static json_t *bounded_text(const char *text)
{
    size_t length = strlen(text), end = utf8_cut(text, length, LIMIT_REPORT_TEXT_BYTES);
    if (end == length)
        return json_text(text);
    char *cut = mem_printf("%.*s\n… %zu more bytes are in the trajectory", (int)end, text,
                           length - end);
    json_t *value = json_text(cut);
    mem_free(cut);
    return value;
}

/* The parts of a verdict that the page shows. */
static json_t *facts_of(const json_t *json)
{
    static const char *const keys[] = {"device",    "correctness", "timing",
                                       "integrity", "error",       "stages_ms"};
    struct verdict verdict;
    struct err ignored;
    json_t *facts = json_object();
    if (verdict_read(json, &verdict, &ignored) == 0) {
        for (size_t i = 0; i < COUNT(keys); i++) {
            json_t *part = verdict_json_at(&verdict, keys[i]);
            char *shown = json_is_null(part) ? NULL : json_dumps(part, JSON_ENCODE_ANY);
            if (shown && strlen(shown) <= LIMIT_REPORT_TEXT_BYTES)
                json_put(facts, keys[i], json_incref(part));
            mem_free(shown);
            json_decref(part);
        }
        if (verdict.kernel_count > KERNELS)
            verdict.kernel_count = KERNELS;
        json_put(facts, "kernels", verdict_json_at(&verdict, "profile.kernels"));
    }
    verdict_deinit(&verdict);
    return facts;
}

static json_t *turn_json(const struct trajectory_turn *turn)
{
    json_t *object = json_object();
    struct arena arena = {0};
    const char *code = *turn->code ? turn->code : report_candidate_text(turn->verdict, &arena);
    json_put(object, "turn", json_integer(turn->turn));
    json_put(object, "status", json_text(gym_status_name(gym_status_of(turn->status))));
    json_put(object, "correct", json_boolean(turn->correct));
    json_put(object, "compiled", json_boolean(turn->compiled));
    json_put(object, "excluded", json_boolean(turn->excluded));
    json_put(object, "speedup", json_number(turn->speedup));
    json_put(object, "low", json_number(turn->speedup_low));
    json_put(object, "high", json_number(turn->speedup_high));
    json_put(object, "reward", json_number(turn->reward));
    json_put(object, "return", json_number(turn->turn_return));
    json_put(object, "answer_ms", json_known(turn->answer_ms));
    json_put(object, "judge_ms", json_known(turn->judge_ms));
    json_put(object, "usage", turn->usage ? json_incref(turn->usage) : json_object());
    json_put(object, "parts", turn->reward_parts ? json_incref(turn->reward_parts) : json_object());
    json_put(object, "code", bounded_text(code));
    json_put(object, "feedback", bounded_text(turn->feedback));
    json_put(object, "thought", bounded_text(*turn->thought ? turn->thought : turn->reasoning));
    json_put(object, "answer", bounded_text(turn->answer));
    json_put(object, "facts", facts_of(turn->verdict));
    arena_deinit(&arena);
    return object;
}

static json_t *episode_json(const struct trajectory *trajectory, const struct report_run *run,
                            int64_t sample, bool whole)
{
    json_t *object = json_object(), *turns = json_array();
    json_put(object, "run", json_text(run->name));
    json_put(object, "episode", json_text(trajectory->episode));
    json_put(object, "sample", json_integer(sample));
    json_put(object, "iteration", json_integer(trajectory->iteration));
    json_put(object, "model", json_text(trajectory->model));
    json_put(object, "language", json_text(trajectory->language));
    json_put(object, "style", json_text(trajectory->style));
    json_put(object, "reward", json_text(trajectory->reward_preset));
    json_put(object, "end", json_text(trajectory->end));
    json_put(object, "return", json_number(trajectory->first_return));
    json_put(object, "whole", json_boolean(whole));
    for (size_t i = 0; whole && i < trajectory->turn_count; i++)
        json_array_append_new(turns, turn_json(&trajectory->turns[i]));
    json_put(object, "turns", turns);
    return object;
}

/* JSON in a script element: only '<' could end it or open another; '<', '>' and '&' occur only in
 * strings, where they are escaped. */
static void put_block(struct buf *out, size_t run, size_t order, const json_t *episode)
{
    char *text = json_dumps(episode, JSON_COMPACT | JSON_REAL_PRECISION(6));
    buf_printf(out, "<script type=\"application/json\" id=\"e%zu-%zu\">", run, order);
    for (const char *at = text ? text : "null"; *at;) {
        size_t plain = strcspn(at, "<>&");
        buf_append(out, at, plain);
        at += plain;
        if (*at)
            buf_printf(out, "\\u%04x", (unsigned char)*at++);
    }
    buf_puts(out, "</script>\n");
    mem_free(text);
}

static int put_run(const struct report *report, size_t r, struct buf *out, struct err *err)
{
    const struct report_run *run = &report->runs[r];
    struct lines *lines;
    struct trajectory trajectory;
    bool cut;
    const struct report_episode **counts = mem_alloc((run->episodes_read + 1) *
                                                     sizeof(struct report_episode *));
    for (size_t i = 0; i < run->episode_count; i++)
        counts[run->episodes[i]->order] = run->episodes[i];
    int result = report_lines_open(&lines, run->path, err);
    /* The file may have grown meanwhile: no more episodes than were counted. */
    for (size_t order = 0; result >= 0 && order < run->episodes_read; order++) {
        result = report_next(lines, &trajectory, &cut, err);
        if (result == 0)
            result = err_set(err, ERR_INPUT, "%s: changed while it was read", run->path);
        if (result < 0)
            break;
        if (counts[order]) {
            json_t *episode = episode_json(&trajectory, run, counts[order]->sample,
                                           out->len < LIMIT_REPORT_BYTES - PAGE_RESERVE_BYTES);
            put_block(out, r, order, episode);
            json_decref(episode);
        }
        trajectory_deinit(&trajectory);
    }
    lines_close(lines);
    mem_free(counts);
    return result < 0 ? result : 0;
}

int page_episodes(const struct report *report, struct buf *out, struct err *err)
{
    int result = 0;
    for (size_t r = 0; result == 0 && r < report->run_count; r++)
        result = put_run(report, r, out, err);
    return result;
}
