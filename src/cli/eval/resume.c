#include "cli/eval/resume.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/lines.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* The identity of a finished evaluation. */
static char *evaluation_identity(const char *problem_hash, const char *candidate_hash,
                                 const char *path)
{
    return mem_printf("%s %s %s", problem_hash, candidate_hash, path);
}

struct finished {
    char *identity;
    bool passed;
};

static int by_identity(const void *a, const void *b)
{
    return strcmp(((const struct finished *)a)->identity, ((const struct finished *)b)->identity);
}

/* If a line of the output file is a final verdict with all that this run would report, its
 * identity is *out's, the caller's. */
static bool finished_one(const char *line, size_t bytes, bool timed, struct finished *out)
{
    struct err ignored;
    struct verdict verdict;
    json_t *object = NULL;
    if (json_parse("verdict", line, bytes, &object, &ignored) < 0)
        return false;
    bool final = verdict_read(object, &verdict, &ignored) == 0 &&
                 verdict.status != STATUS_INFRASTRUCTURE_ERROR;
    bool untimed = verdict.timing_note && strcmp(verdict.timing_note, VERDICT_NOT_TIMED) == 0;
    final = final && !(untimed && timed);
    if (final)
        *out = (struct finished){
            .identity = evaluation_identity(verdict.problem_hash, verdict.candidate_hash,
                                            verdict.candidate_path),
            .passed = verdict.status == STATUS_PASSED,
        };
    verdict_deinit(&verdict);
    json_decref(object);
    return final;
}

/* Identities of the final verdicts in the output file, sorted. */
static struct finished *finished_before(const char *path, bool timed, size_t *count)
{
    struct err err;
    struct lines *lines;
    const char *text;
    size_t bytes;
    struct finished one, *found = NULL;
    *count = 0;
    int result = lines_open(&lines, path, LIMIT_QUEUE_BODY_BYTES, &err) < 0 ? 0 : 1;
    while (result > 0 || result == ERR_LIMIT) { /* a line that is too long is no verdict */
        result = lines_next(lines, &text, &bytes, &err);
        if (result > 0 && finished_one(text, bytes, timed, &one)) {
            found = mem_resize(found, (*count + 1) * sizeof *found);
            found[(*count)++] = one;
        }
    }
    lines_close(lines);
    if (*count)
        qsort(found, *count, sizeof *found, by_identity);
    return found;
}

size_t eval_resume(const char *path, bool timed, struct batch_task *tasks, size_t *count,
                   size_t *failed)
{
    size_t known_count;
    struct finished *known = finished_before(path, timed, &known_count);
    size_t kept = 0;
    size_t skipped = 0;
    *failed = 0;
    for (size_t i = 0; i < *count && known_count > 0; i++) {
        char hash[HASH_HEX_BYTES];
        const struct candidate *candidate = &tasks[i].candidate;
        hash_bytes(candidate->text, candidate->bytes, hash);
        const struct finished mine = {
            .identity = evaluation_identity(tasks[i].problem->hash, hash, candidate->path)};
        const struct finished *done = bsearch(&mine, known, known_count, sizeof *known,
                                              by_identity);
        mem_free(mine.identity);
        skipped += done != NULL;
        *failed += done && !done->passed;
        if (!done && kept != i) { /* swap: the tail keeps ownership */
            struct batch_task other = tasks[kept];
            tasks[kept] = tasks[i];
            tasks[i] = other;
        }
        kept += !done;
    }
    if (known_count > 0)
        *count = kept;
    for (size_t i = 0; i < known_count; i++)
        mem_free(known[i].identity);
    mem_free(known);
    return skipped;
}
