#include "judging.h"

#include "base/file.h"
#include "base/mem.h"
#include "problem/loader.h"
#include "sandbox/standby.h"
#include "test.h"

#include <dirent.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void judging_settings(struct settings *settings, const char *directory)
{
    struct err err = {0};
    settings_init(settings);
    assert_ok(settings_assign(settings, support_text("cache.directory=%s/cache", directory), &err),
              &err);
}

struct judge *judging_open(const struct judge_options *options)
{
    struct judge *judge = NULL;
    struct err err = {0};
    assert_ok(judge_open(&judge, options, &err), &err);
    return judge;
}

struct judging judging;

void judging_begin(const char *const *words)
{
    struct err err = {0};
    judging.place = support_directory();
    judging.cancelled = 0;
    setenv("XDG_STATE_HOME", judging.place, 1);
    judging_settings(&judging.settings, judging.place);
    for (; words && *words; words++)
        assert_ok(settings_assign(&judging.settings, *words, &err), &err);
    judging.judge = judging_open(&(struct judge_options){.settings = &judging.settings,
                                                         .cancelled = &judging.cancelled,
                                                         .no_timing = true});
    judging.session = session_new(judging.judge);
}

int judging_end(void **state)
{
    (void)state;
    session_free(judging.session);
    judge_close(judging.judge);
    settings_deinit(&judging.settings);
    return 0;
}

void judging_problem(struct problem *problem, const char *directory, const char *name,
                     const char *yaml, const char *reference)
{
    struct err err = {0};
    char *place = mem_printf("%s/%s", directory, name);
    char *whole = mem_printf("name: %s\nsummary: A problem of a test.\n%s", name, yaml);
    assert_ok(file_make_directories(place, 0755, &err), &err);
    support_write(place, "problem.yaml", whole);
    support_write(place, "reference.c", reference);
    assert_ok(problem_load(problem, place, name, &err), &err);
    mem_free(whole);
    mem_free(place);
}

struct candidate judging_candidate(const char *path, const char *text)
{
    return (struct candidate){.path = path, .text = text, .bytes = strlen(text)};
}

void judging_assert_refused(const char *(*make)(const char *number), const char *names)
{
    char *rest, *words = support_text("%s", names);
    for (char *name = strtok_r(words, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        int number = seccomp_syscall_resolve_name(name);
        assert_true(number >= 0);
        const char *answer = make(support_text("%d", number));
        if (strcmp(answer, "refused: EPERM") != 0 && strcmp(answer, "refused: ENOSYS") != 0)
            fail_msg("%s: %s", name, answer);
    }
}

int judging_descriptors(void)
{
    int count = 0;
    DIR *stream = opendir("/proc/self/fd");
    while (stream && readdir(stream))
        count++;
    if (stream)
        closedir(stream);
    return count;
}

size_t judging_children(pid_t *pids, size_t most)
{
    size_t count = 0;
    DIR *stream = opendir("/proc");
    struct dirent *item;
    while (stream && (item = readdir(stream))) {
        pid_t pid = (pid_t)strtol(item->d_name, NULL, 10);
        if (count < most && pid > 0 && sandboxed_stat(pid, 4) == getpid())
            pids[count++] = pid;
    }
    if (stream)
        closedir(stream);
    return count;
}

const char *judging_summary(const struct verdict *verdict)
{
    static char text[1024];
    snprintf(text, sizeof text, "%s (%s: %s)", verdict_status_name(verdict->status),
             verdict->error_class ? verdict->error_class : "no error",
             verdict->error_message ? verdict->error_message : "");
    return text;
}

enum verdict_status judging_status(struct session *session, const struct problem *problem,
                                   const char *path, const char *text)
{
    struct verdict verdict;
    struct candidate candidate = judging_candidate(path, text);
    session_evaluate(session, problem, &candidate, NULL, &verdict);
    enum verdict_status status = verdict.status;
    if (status != STATUS_PASSED)
        print_message("%s\n", judging_summary(&verdict));
    verdict_deinit(&verdict);
    return status;
}
