#include "judge/build/scratch.h"

#include "base/file.h"
#include "judge/context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define READABLE 96

int workshop_open(struct workshop *workshop, struct session *session, struct err *err)
{
    *workshop = (struct workshop){.session = session,
                                  .scratch = mem_strdup("/tmp/warpgym-build-XXXXXX")};
    if (mkdtemp(workshop->scratch))
        return 0;
    mem_free(workshop->scratch);
    workshop->scratch = NULL;
    return err_sys(err, errno, "cannot make a scratch directory in /tmp");
}

void workshop_close(struct workshop *workshop)
{
    if (workshop->scratch)
        file_remove_tree(workshop->scratch);
    mem_free(workshop->scratch);
    workshop->scratch = NULL;
}

int workshop_write(const struct workshop *workshop, const char *name, const void *bytes,
                   size_t count, struct err *err)
{
    char *path = mem_printf("%s/%s", workshop->scratch, name);
    int result = file_write_atomic(path, bytes, count, 0644, err);
    mem_free(path);
    return result;
}

int workshop_command(const struct workshop *workshop, const char *const *argv,
                     const char *const *environment, const char *const *readable,
                     struct outcome *outcome, struct err *err)
{
    const struct settings *settings = workshop->session->settings;
    struct sandbox_runner runner = workshop->session->runner;
    struct command command = {.argv = argv,
                              .environment = environment,
                              .directory = workshop->scratch,
                              .readable = readable,
                              .timeout_ms = settings->run_load_timeout_ms,
                              .memory_bytes = settings->compile_memory_bytes * 2,
                              .file_bytes = LIMIT_ARTIFACT_BYTES};
    runner.toolchain_root = NULL; /* programs of this machine, not of a bundle */
    return runner.runner.run(&runner.runner, &command, outcome, err);
}

int workshop_run(const struct workshop *workshop, const char *script, const char *const *readable,
                 struct outcome *outcome, struct err *err)
{
    static const char *const environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", "TMPDIR=.", NULL};
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    const char *all[READABLE];
    size_t count = 0;
    for (char **path = workshop->session->judge->toolchain.readable;
         path && *path && count < READABLE / 2; path++)
        all[count++] = *path;
    for (; *readable && count < READABLE - 1; readable++)
        all[count++] = *readable;
    all[count] = NULL;
    int result = workshop_command(workshop, argv, environment, all, outcome, err);
    if (result == 0 && outcome->timed_out)
        result = err_set(err, ERR_TIMEOUT, "compiling the extension took longer than it may");
    return result;
}

int workshop_result(const struct workshop *workshop, const char *name)
{
    struct stat facts;
    char *path = mem_printf("%s/%s", workshop->scratch, name);
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
static const char *cache_of(const struct session *session)
{
    return session->judge->options.settings->cache_max_bytes ? session->judge->cache : NULL;
}

bool workshop_find(struct session *session, const char key[HASH_HEX_BYTES],
                   struct cache_entry *entry)
{
    const char *cache = cache_of(session);
    return cache && cache_get(cache, key, entry);
}

void workshop_keep(struct session *session, const char key[HASH_HEX_BYTES], int object,
                   const char *words)
{
    struct err ignored;
    char *kept = NULL;
    const char *cache = cache_of(session);
    if (!cache)
        return;
    if (cache_put(cache, key, object, words, &kept, &ignored) == 0)
        mem_free(kept);
    (void)cache_tend(cache, session->judge->options.settings->cache_max_bytes);
}

int workshop_read(int fd, uint64_t most, char **bytes, size_t *count, struct err *err)
{
    lseek(fd, 0, SEEK_SET);
    int result = file_read_fd(fd, "what was built", LIMIT_ARTIFACT_BYTES * 2, bytes, count, err);
    if (result == 0 && *count > most)
        *count = (size_t)most;
    return result;
}
