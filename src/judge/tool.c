#include "judge/tool.h"

#include "base/file.h"
#include "compile/cache.h"
#include "judge/context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OUTPUT_BYTES ((size_t)256 << 10)

/* Size and time stand for what is in a file: those of a package are never changed in place. */
static int make_key(const struct tool_job *job, char key[HASH_HEX_BYTES], struct err *err)
{
    int result = 0;
    struct stat facts;
    struct hash *hash = hash_new();
    hash_update_string(hash, "tool 1");
    for (const char *const *word = job->argv; *word; word++)
        hash_update_string(hash, *word);
    for (const char *const *path = job->identity; *path; path++) {
        memset(&facts, 0, sizeof facts);
        if (stat(*path, &facts) < 0 && result == 0)
            result = err_set(err, ERR_MISSING, "%s is not there", *path);
        hash_update_string(hash, *path);
        hash_update(hash, &facts.st_size, sizeof facts.st_size);
        hash_update(hash, &facts.st_mtim, sizeof facts.st_mtim);
    }
    hash_update_string(hash, job->source);
    hash_finish(hash, key);
    return result;
}

/* What the program said, less the lines that it says about every source. */
static int refuse(const struct tool_job *job, const char *output, struct buf *words,
                  struct err *err)
{
    for (const char *line = output; *line;) {
        size_t length = strcspn(line, "\n");
        length += line[length] == '\n';
        if (!job->noise || strncmp(line, job->noise, strlen(job->noise)) != 0)
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
    int result = file_read_fd(fd, name, LIMIT_ARTIFACT_BYTES + OUTPUT_BYTES, &data, &count, err);
    if (result < 0)
        return result;
    result = file_memory_from(name, data, count < bytes ? count : (size_t)bytes, err);
    mem_free(data);
    return result;
}

static int from_cache(const struct tool_job *job, const struct cache_entry *entry,
                      struct buf *words, struct err *err)
{
    if (!entry->ok)
        return refuse(job, entry->diagnostics, words, err);
    int fd = open(entry->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "%s: cannot open", entry->path);
    int result = memory_of(fd, job->result_name, entry->object_bytes, err);
    close(fd);
    return result;
}

/* The result in scratch, opened so that a link planted there is not followed; -1: none. */
static int open_result(const char *scratch, const char *name)
{
    struct stat facts;
    char *path = mem_printf("%s/%s", scratch, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    mem_free(path);
    if (fd >= 0 && (fstat(fd, &facts) < 0 || !S_ISREG(facts.st_mode) ||
                    (uint64_t)facts.st_size > LIMIT_ARTIFACT_BYTES)) {
        close(fd);
        return -1;
    }
    return fd;
}

static int take_result(const char *cache, const struct tool_job *job, const char *key,
                       const char *scratch, const struct outcome *outcome, struct buf *words,
                       struct err *err)
{
    struct err ignored;
    char *kept = NULL;
    int fd = outcome->exit_code == 0 ? open_result(scratch, job->result_name) : -1;
    bool certain = fd >= 0 || outcome->exit_code > 0; /* a signal may not come again */
    const char *said = outcome->output.data;
    if (cache && certain && cache_put(cache, key, fd, fd >= 0 ? "" : said, &kept, &ignored) == 0)
        mem_free(kept);
    if (fd < 0)
        return refuse(job, said, words, err);
    lseek(fd, 0, SEEK_SET);
    int result = memory_of(fd, job->result_name, LIMIT_ARTIFACT_BYTES, err);
    close(fd);
    return result;
}

static int run_in(struct session *session, const struct tool_job *job, const char *scratch,
                  struct outcome *outcome, struct err *err)
{
    const struct settings *settings = session->judge->options.settings;
    static const char *const environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", NULL};
    struct sandbox_runner runner = session->runner;
    struct command command = {.argv = job->argv,
                              .environment = environment,
                              .directory = scratch,
                              .readable = job->readable,
                              .timeout_ms = settings->run_load_timeout_ms,
                              .memory_bytes = settings->compile_memory_bytes * 2,
                              .file_bytes = LIMIT_ARTIFACT_BYTES};
    char *path = mem_printf("%s/%s", scratch, job->source_name);
    runner.toolchain_root = NULL; /* programs of this machine, not of a bundle */
    int result = file_write_atomic(path, job->source, strlen(job->source), 0644, err);
    if (result == 0)
        result = runner.runner.run(&runner.runner, &command, outcome, err);
    if (result == 0 && outcome->timed_out)
        result = err_set(err, ERR_TIMEOUT, "%s took longer than it may", job->argv[0]);
    mem_free(path);
    return result;
}

/* NULL: nothing is kept. */
static const char *cache_of(const struct session *session)
{
    return session->judge->options.settings->cache_max_bytes ? session->judge->cache : NULL;
}

static int build(struct session *session, const struct tool_job *job, const char *key,
                 struct buf *words, struct err *err)
{
    struct outcome outcome;
    char scratch[] = "/tmp/warpgym-cc-XXXXXX";
    if (!mkdtemp(scratch))
        return err_sys(err, errno, "%s: cannot create", scratch);
    outcome_init(&outcome, OUTPUT_BYTES);
    int result = run_in(session, job, scratch, &outcome, err);
    if (result == 0)
        result = take_result(cache_of(session), job, key, scratch, &outcome, words, err);
    outcome_deinit(&outcome);
    file_remove_tree(scratch);
    return result;
}

int tool_build(struct session *session, const struct tool_job *job, struct buf *words,
               struct err *err)
{
    struct cache_entry entry = {0};
    char key[HASH_HEX_BYTES];
    const char *cache = cache_of(session);
    int result = make_key(job, key, err);
    if (result == 0)
        result = cache && cache_get(cache, key, &entry) ? from_cache(job, &entry, words, err)
                                                        : build(session, job, key, words, err);
    if (cache)
        (void)cache_tend(cache, session->judge->options.settings->cache_max_bytes);
    mem_free(entry.path);
    mem_free(entry.diagnostics);
    return result;
}
