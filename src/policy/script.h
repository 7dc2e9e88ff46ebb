/* script: prepared answers, one JSON object a line.
 *
 *   {"problem": "softmax", "turn": 0, "answer": "…"}
 *   {"problem": "*", "turn": 1, "sample": 3, "answer": {"file": "answers/1.md"}, "delay_ms": 20}
 *
 * problem, turn and answer are required; "*" is any problem, a missing sample any sample. Optional:
 * `reasoning`, `finish` ("stop"), `delay_ms` (0) and `usage` {prompt_tokens, completion_tokens,
 * cached_tokens}. Choice of a line: among the lines that match problem and sample, those of the
 * latest turn that is not after the requested one; of these the one that names the problem, then
 * the one that names the sample. So a turn beyond the script repeats its last turn's answer.
 *
 * Ownership: everything lives in the script's arena. Threads: immutable once parsed.
 */
#pragma once

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>

#define SCRIPT_ANY (-1)

struct script_line {
    size_t number;       /* from 1, of the file */
    const char *problem; /* NULL: any */
    int64_t turn, sample /* SCRIPT_ANY */, delay_ms;
    const char *text, *file; /* one of them; scripted.c loads a file's text into `text` */
    const char *reasoning;   /* NULL: none */
    const char *finish;
    int64_t prompt_tokens, completion_tokens, cached_tokens; /* -1: unknown */
};

struct script {
    struct script_line *lines;
    size_t count;
    struct arena arena;
};

/* ERR_INPUT with NAME:LINE, ERR_LIMIT. After a failure nothing is to be released. */
NODISCARD int script_parse(struct script *script, const char *name, const char *text, size_t bytes,
                           struct err *err);
void script_deinit(struct script *script);

/* NULL: no line matches. */
const struct script_line *script_find(const struct script *script, const char *problem,
                                      int64_t sample, int64_t turn);

/* Whether a file's path stays below the script's directory: relative, without "..", "." or empty
 * parts. */
NODISCARD int script_check_path(const char *path, struct err *err);
