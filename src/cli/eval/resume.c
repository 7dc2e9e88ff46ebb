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

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Its identity (the caller's) if a line of the output file is a final verdict with all that this
 * run would report; else NULL. */
static char *finished_one(const char *line, size_t bytes, bool timed)
{
    struct err ignored;
    struct verdict verdict;
    json_t *object = NULL;
    char *found = NULL;
    if (json_parse("verdict", line, bytes, &object, &ignored) < 0)
        return NULL;
    bool final = verdict_read(object, &verdict, &ignored) == 0 &&
                 verdict.status != STATUS_INFRASTRUCTURE_ERROR;
    bool untimed = verdict.timing_note && strcmp(verdict.timing_note, VERDICT_NOT_TIMED) == 0;
    if (final && !(untimed && timed))
        found = evaluation_identity(verdict.problem_hash, verdict.candidate_hash,
                                    verdict.candidate_path);
    verdict_deinit(&verdict);
    json_decref(object);
    return found;
}

/* Identities of the final verdicts in the output file, sorted. */
static char **finished_identities(const char *path, bool timed, size_t *count)
{
    struct err err;
    struct lines *lines;
    const char *text;
    size_t bytes;
    char **found = NULL;
    *count = 0;
    int result = lines_open(&lines, path, LIMIT_QUEUE_BODY_BYTES, &err) < 0 ? 0 : 1;
    while (result > 0 || result == ERR_LIMIT) { /* a line that is too long is no verdict */
        result = lines_next(lines, &text, &bytes, &err);
        char *one = result > 0 ? finished_one(text, bytes, timed) : NULL;
        if (one) {
            found = mem_resize(found, (*count + 1) * sizeof *found);
            found[(*count)++] = one;
        }
    }
    lines_close(lines);
    if (*count)
        qsort(found, *count, sizeof *found, by_text);
    return found;
}

size_t eval_resume(const char *path, bool timed, struct batch_task *tasks, size_t *count)
{
    size_t known_count;
    char **known = finished_identities(path, timed, &known_count);
    size_t kept = 0;
    size_t skipped = 0;
    for (size_t i = 0; i < *count && known_count > 0; i++) {
        char hash[HASH_HEX_BYTES];
        const struct candidate *candidate = &tasks[i].candidate;
        hash_bytes(candidate->text, candidate->bytes, hash);
        char *mine = evaluation_identity(tasks[i].problem->hash, hash, candidate->path);
        bool done = bsearch(&mine, known, known_count, sizeof *known, by_text) != NULL;
        mem_free(mine);
        if (done)
            skipped++;
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
        mem_free(known[i]);
    mem_free(known);
    return skipped;
}
