#include "rl/train/sample_text.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/lines.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "gym/episode/trajectory.h"

#include <string.h>

#define SAMPLE_TEXT_BYTES ((size_t)1 << 20)

void sample_text_init(struct sample_text *samples)
{
    *samples = (struct sample_text){0};
    buf_init(&samples->text, SAMPLE_TEXT_BYTES);
}

void sample_text_deinit(struct sample_text *samples)
{
    buf_deinit(&samples->text);
    mem_free(samples->problem);
}

/* Up to `most` bytes, cut at a character, each line indented by four blanks. */
static void put_block(struct buf *out, const char *text, size_t most)
{
    size_t all = strnlen(text, most + 1), length = utf8_cut(text, all, most);
    buf_puts(out, "\n    ");
    for (size_t i = 0; i < length; i++) {
        buf_append(out, text + i, 1);
        bool ends = text[i] == '\n' ||
                    (text[i] == '\r' && (i + 1 == length || text[i + 1] != '\n'));
        if (ends)
            buf_puts(out, "    ");
    }
    buf_printf(out, "%s\n\n", length < all ? "…" : "");
}

static void put_prompt(struct buf *out, const json_t *turn)
{
    const json_t *messages = json_object_get(turn, "prompt");
    const json_t *last = json_array_get(messages, json_array_size(messages) - 1);
    if (!last)
        return;
    buf_puts(out, "Prompt:\n");
    put_block(out, json_text_at(last, "content"), SAMPLE_TEXT_PROMPT_BYTES);
}

static void put_verdict(struct buf *out, const json_t *turn)
{
    struct verdict verdict;
    if (trajectory_verdict(turn, &verdict) && verdict.error_message) {
        buf_puts(out, "The judge:\n");
        put_block(out, verdict.error_message, SAMPLE_TEXT_MESSAGE_BYTES);
    }
    verdict_deinit(&verdict);
}

static void put_turn(struct buf *out, const json_t *turn)
{
    double speedup = json_number_value(json_object_get(turn, "speedup"));
    buf_printf(out, "**Turn %" JSON_INTEGER_FORMAT ": %s",
               json_integer_value(json_object_get(turn, "turn")), json_text_at(turn, "status"));
    if (speedup > 0)
        buf_printf(out, ", %.3gx", speedup);
    if (json_is_true(json_object_get(turn, "excluded")))
        buf_puts(out, ", excluded**\n");
    else
        buf_printf(out, ", reward %.4g**\n", json_number_value(json_object_get(turn, "reward")));
    put_block(out, json_text_at(turn, "answer"), SAMPLE_TEXT_ANSWER_BYTES);
    put_verdict(out, turn);
}

void sample_text_add(struct sample_text *samples, const json_t *trajectory)
{
    const char *problem = json_text_at(trajectory, "problem");
    const json_t *turns = json_object_get(trajectory, "turns");
    bool again = samples->problem && strcmp(samples->problem, problem) == 0;
    if (again || samples->count == SAMPLE_TEXT_PROBLEMS || json_array_size(turns) == 0)
        return;
    mem_free(samples->problem);
    samples->problem = mem_strdup(problem);
    samples->count++;
    buf_printf(&samples->text, "### %s, sample %" JSON_INTEGER_FORMAT "\n\n", problem,
               json_integer_value(json_object_get(trajectory, "sample")));
    put_prompt(&samples->text, json_array_get(turns, 0));
    for (size_t i = 0; i < json_array_size(turns) && i < SAMPLE_TEXT_TURNS; i++)
        put_turn(&samples->text, json_array_get(turns, i));
}

int sample_text_add_file(struct sample_text *samples, const char *path, struct err *err)
{
    struct lines *lines;
    const char *text;
    size_t count;
    int result = lines_open(&lines, path, LIMIT_TRAJECTORY_BYTES, err);
    if (result == ERR_MISSING)
        return 0;
    if (result < 0)
        return result;
    while (samples->count < SAMPLE_TEXT_PROBLEMS &&
           (result = lines_next(lines, &text, &count, err)) > 0) {
        json_t *trajectory = NULL;
        result = json_parse_line(path, lines_number(lines), text, count, &trajectory, err);
        if (result < 0)
            break;
        sample_text_add(samples, trajectory);
        json_decref(trajectory);
    }
    lines_close(lines);
    return result < 0 ? result : 0;
}
