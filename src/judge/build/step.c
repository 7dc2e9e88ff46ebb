#include "judge/build/step.h"

#include "base/file.h"
#include "judge/build/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OUTPUT_BYTES ((size_t)256 << 10)

/* Size and time stand for what is in a file: those of a package are never changed in place. */
static int make_key(const struct build_step *step, char key[HASH_HEX_BYTES], struct err *err)
{
    int result = 0;
    struct stat facts;
    struct hash *hash = hash_new();
    hash_update_string(hash, "tool 1");
    for (const char *const *word = step->argv; *word; word++)
        hash_update_string(hash, *word);
    for (const char *const *path = step->identity; *path; path++) {
        memset(&facts, 0, sizeof facts);
        if (stat(*path, &facts) < 0 && result == 0)
            result = err_set(err, ERR_MISSING, "%s is not there", *path);
        hash_update_string(hash, *path);
        hash_update(hash, &facts.st_size, sizeof facts.st_size);
        hash_update(hash, &facts.st_mtim, sizeof facts.st_mtim);
    }
    hash_update_string(hash, step->source);
    hash_finish(hash, key);
    return result;
}

/* What the program said, less the lines that it says about every source. */
static int refuse_source(const struct build_step *step, const char *output, struct buf *words,
                         struct err *err)
{
    for (const char *line = output; *line;) {
        size_t length = strcspn(line, "\n");
        length += line[length] == '\n';
        if (!step->noise || strncmp(line, step->noise, strlen(step->noise)) != 0)
            buf_append(words, line, length);
        line += length;
    }
    if (words->len == 0)
        buf_puts(words, "the compiler was killed");
    return err_set(err, ERR_INPUT, "%.700s", words->data);
}

/* The first `bytes` of a file as sealed memory. */
static int memory_of(int fd, const char *name, uint64_t bytes, struct err *err)
{
    char *data;
    size_t count;
    int result = build_scratch_read(fd, bytes, &data, &count, err);
    if (result < 0)
        return result;
    result = file_memory_from(name, data, count, err);
    mem_free(data);
    return result;
}

static int take_cached(const struct build_step *step, const struct cache_entry *entry,
                       struct buf *words, struct err *err)
{
    if (!entry->ok)
        return refuse_source(step, entry->diagnostics, words, err);
    int fd = open(entry->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "%s: cannot open", entry->path);
    int result = memory_of(fd, step->result_name, entry->object_bytes, err);
    close(fd);
    return result;
}

static int take_result(const struct build_scratch *scratch, const struct build_step *step,
                       const char *key, const struct outcome *outcome, struct buf *words,
                       struct err *err)
{
    const char *said = outcome->output.data;
    int fd = outcome->exit_code == 0 ? build_scratch_result(scratch, step->result_name) : -1;
    if (fd >= 0 || outcome->exit_code > 0) /* a signal may not come again */
        build_scratch_keep(scratch->context, key, fd, fd >= 0 ? "" : said);
    if (fd < 0)
        return refuse_source(step, said, words, err);
    int result = memory_of(fd, step->result_name, LIMIT_ARTIFACT_BYTES, err);
    close(fd);
    return result;
}

static int run_program(const struct build_scratch *scratch, const struct build_step *step,
                       struct outcome *outcome, struct err *err)
{
    static const char *const environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", NULL};
    int result = build_scratch_write(scratch, step->source_name, step->source, strlen(step->source),
                                     err);
    if (result == 0)
        result = build_scratch_command(scratch, step->argv, environment, step->readable, outcome,
                                       err);
    if (result == 0 && outcome->timed_out)
        result = err_set(err, ERR_TIMEOUT, "%s took longer than it may", step->argv[0]);
    return result;
}

static int run_step(const struct build_context *context, const struct build_step *step,
                    const char *key, struct buf *words, struct err *err)
{
    struct build_scratch scratch;
    struct outcome outcome;
    int result = build_scratch_open(&scratch, context, err);
    if (result < 0)
        return result;
    outcome_init(&outcome, OUTPUT_BYTES);
    result = run_program(&scratch, step, &outcome, err);
    if (result == 0)
        result = take_result(&scratch, step, key, &outcome, words, err);
    outcome_deinit(&outcome);
    build_scratch_close(&scratch);
    return result;
}

int build_step_run(const struct build_context *context, const struct build_step *step,
                   struct buf *words, struct err *err)
{
    struct cache_entry entry = {0};
    char key[HASH_HEX_BYTES];
    int result = make_key(step, key, err);
    if (result == 0)
        result = build_scratch_find(context, key, &entry)
                     ? take_cached(step, &entry, words, err)
                     : run_step(context, step, key, words, err);
    mem_free(entry.path);
    mem_free(entry.diagnostics);
    return result;
}
