#include "judge/build/scratch.h"

#include "base/file.h"
#include "judge/request/judge_settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define READABLE 96

void build_tools_init(struct build_tools *tools)
{
    pthread_mutex_init(&tools->lock, NULL);
    pthread_mutex_init(&tools->kernels_lock, NULL);
}

void build_tools_deinit(struct build_tools *tools)
{
    pthread_mutex_destroy(&tools->lock);
    pthread_mutex_destroy(&tools->kernels_lock);
    mem_free(tools->torch_paths);
    mem_free(tools->triton_paths);
}

int build_scratch_open(struct build_scratch *scratch, const struct build_context *context,
                       struct err *err)
{
    *scratch = (struct build_scratch){.context = context,
                                      .directory = mem_strdup("/tmp/warpgym-build-XXXXXX")};
    if (mkdtemp(scratch->directory))
        return 0;
    mem_free(scratch->directory);
    scratch->directory = NULL;
    return err_sys(err, errno, "cannot make a scratch directory in /tmp");
}

void build_scratch_close(struct build_scratch *scratch)
{
    if (scratch->directory)
        file_remove_tree(scratch->directory);
    mem_free(scratch->directory);
    scratch->directory = NULL;
}

int build_scratch_write(const struct build_scratch *scratch, const char *name, const void *bytes,
                        size_t count, struct err *err)
{
    char *path = mem_printf("%s/%s", scratch->directory, name);
    int result = file_write_atomic(path, bytes, count, 0644, err);
    mem_free(path);
    return result;
}

/* One program gets no more than loading, all together no more than the candidate may have. */
static int64_t time_left_ms(const struct build_context *context)
{
    int64_t load_ms = run_settings(context->settings)->load_timeout_ms;
    double left_ms = (double)compile_settings(context->settings)->total_ms - context->use->spent_ms;
    if (left_ms < 1)
        return 1;
    return left_ms < (double)load_ms ? (int64_t)left_ms : load_ms;
}

int build_scratch_command(const struct build_scratch *scratch, const char *const *argv,
                          const char *const *environment, const char *const *readable,
                          struct outcome *outcome, struct err *err)
{
    const struct build_context *context = scratch->context;
    struct sandbox_runner runner = context->runner;
    struct command command = {.argv = argv,
                              .environment = environment,
                              .directory = scratch->directory,
                              .readable = readable,
                              .timeout_ms = time_left_ms(context),
                              .memory_bytes = compile_settings(context->settings)->memory_bytes * 2,
                              .file_bytes = LIMIT_ARTIFACT_BYTES};
    runner.toolchain_root = NULL; /* programs of this machine, not of a bundle */
    int result = runner.runner.run(&runner.runner, &command, outcome, err);
    context->use->spent_ms += outcome->elapsed_ms - outcome->waited_ms;
    context->use->waited_ms += outcome->waited_ms;
    return result;
}

int build_scratch_script(const struct build_scratch *scratch, const char *script,
                         const char *const *readable, struct outcome *outcome, struct err *err)
{
    static const char *const environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", "TMPDIR=.", NULL};
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    const char *all[READABLE];
    size_t count = 0;
    for (char **path = scratch->context->tools->toolchain->readable;
         path && *path && count < READABLE / 2; path++)
        all[count++] = *path;
    for (; *readable && count < READABLE - 1; readable++)
        all[count++] = *readable;
    all[count] = NULL;
    int result = build_scratch_command(scratch, argv, environment, all, outcome, err);
    if (result == 0 && outcome->timed_out)
        result = err_set(err, ERR_TIMEOUT, "compiling the extension took longer than it may");
    return result;
}

int build_scratch_result(const struct build_scratch *scratch, const char *name)
{
    struct stat facts;
    char *path = mem_printf("%s/%s", scratch->directory, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    mem_free(path);
    if (fd >= 0 && (fstat(fd, &facts) < 0 || !S_ISREG(facts.st_mode) ||
                    (uint64_t)facts.st_size > LIMIT_ARTIFACT_BYTES)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* NULL: nothing is kept. */
static const char *cache_of(const struct build_context *context)
{
    return cache_settings(context->tools->settings)->max_bytes ? context->tools->installation->cache
                                                               : NULL;
}

bool build_scratch_find(const struct build_context *context, const char key[HASH_HEX_BYTES],
                        struct cache_entry *entry)
{
    const char *cache = cache_of(context);
    return cache && cache_get(cache, key, entry);
}

void build_scratch_keep(const struct build_context *context, const char key[HASH_HEX_BYTES],
                        int object, const char *words)
{
    struct err ignored;
    char *kept = NULL;
    const char *cache = cache_of(context);
    if (!cache)
        return;
    if (cache_put(cache, key, object, words, &kept, &ignored) == 0)
        mem_free(kept);
    (void)cache_tend(cache, cache_settings(context->tools->settings)->max_bytes);
}

int build_scratch_read(int fd, uint64_t most, char **bytes, size_t *count, struct err *err)
{
    lseek(fd, 0, SEEK_SET);
    int result = file_read_fd(fd, "what was built", LIMIT_ARTIFACT_BYTES * 2, bytes, count, err);
    if (result == 0 && *count > most)
        *count = (size_t)most;
    return result;
}
