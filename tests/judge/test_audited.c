/* Audits that a judge keeps. A stand-in for the C compiler is killed while a test wants that. */
#include "../support/judging.h"
#include "../support/test.h"
#include "base/clock.h"
#include "judge/judge_internal.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORKING "#!/bin/sh\nexec /usr/bin/gcc \"$@\"\n"
#define KILLED                                                                                     \
    "#!/bin/sh\ncase \"$1\" in --version) exec /usr/bin/gcc \"$1\";; esac\n"                       \
    "echo 'gcc: fatal error: Killed signal terminated program cc1' >&2\nexit 1\n"
#define SLOW_S 60
#define SLOW                                                                                       \
    "#!/bin/sh\ncase \"$1\" in --version) exec /usr/bin/gcc \"$1\";; esac\nexec /bin/sleep 60\n"
#define TEXT JUDGING_HEAD "    for (size_t i = 0; i < n; i++)\n        y[i] = 2 * x[i] + 1;\n}\n"

static struct problem problem;
static char *tools;

static void install_compiler(const char *script)
{
    support_write(tools, "bin/gcc", script);
    assert_int_equal(chmod(support_text("%s/bin/gcc", tools), 0755), 0);
}

FIXTURE(setup)
{
    tools = support_directory();
    assert_int_equal(chmod(tools, 0755), 0);
    install_compiler(WORKING);
    setenv("WARPGYM_CC", support_text("%s/bin/gcc", tools), 1);
    judging_begin(NULL);
    judging_problem(&problem, judging.place, "twice", JUDGING_YAML("[{n: 9}]", "[{n: 9}]"), TEXT);
    return 0;
}

FIXTURE(teardown)
{
    problem_deinit(&problem);
    unsetenv("WARPGYM_CC");
    return judging_end(state);
}

static void assert_audited(enum verdict_status status, enum audit_outcome outcome)
{
    struct verdict verdict;
    struct candidate candidate = judging_candidate("twice.c", TEXT);
    session_evaluate(judging.session, &problem, &candidate, NULL, &verdict);
    if (verdict.status != status || verdict.audit.outcome != outcome)
        fail_msg("%s; audit %d: %s", judging_summary(&verdict), (int)verdict.audit.outcome,
                 verdict.audit.reason ? verdict.audit.reason : "");
    verdict_deinit(&verdict);
}

static _Atomic int stopped;

static void *stop_soon(void *nothing)
{
    (void)usleep(300000);
    stopped = 1;
    return nothing;
}

/* As if AUDIT_AGAIN_MS had passed; how many audits that concerns. */
static int let_time_pass(void)
{
    int count = 0;
    for (size_t i = 0; i < AUDITED_MOST; i++) {
        struct audited *kept = &judging.judge->audits.kept[i];
        if (!kept->text || kept->until_ns == INT64_MAX)
            continue;
        assert_true(kept->until_ns > clock_now_ns());
        kept->until_ns = 0;
        count++;
    }
    return count;
}

TEST_EACH(setup, teardown);

/* What failed is made again, but not for each candidate; what did not is kept. */
TEST(made_again)
{
    if (access("/usr/bin/gcc", X_OK) != 0)
        skip();
    install_compiler(KILLED);
    assert_audited(STATUS_INFRASTRUCTURE_ERROR, AUDIT_UNKNOWN);
    install_compiler(WORKING);
    assert_audited(STATUS_PASSED, AUDIT_UNKNOWN);
    assert_int_equal(let_time_pass(), 1);
    assert_audited(STATUS_PASSED, AUDIT_SOUND);
    assert_int_equal(let_time_pass(), 0);
    assert_audited(STATUS_PASSED, AUDIT_SOUND);
}

/* Before its time has begun, too: the compiler is at work then. */
TEST(cancelled)
{
    struct verdict verdict;
    struct candidate candidate = judging_candidate("twice.c", TEXT);
    const struct evaluation_terms terms = {.stopped = &stopped};
    pthread_t thread;
    if (access("/usr/bin/gcc", X_OK) != 0)
        skip();
    install_compiler(SLOW);
    stopped = 0;
    int64_t start_ns = clock_now_ns();
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, NULL), 0);
    session_evaluate(judging.session, &problem, &candidate, &terms, &verdict);
    pthread_join(thread, NULL);
    assert_int_equal(verdict.status, STATUS_CANCELLED);
    assert_int_equal(verdict.audit.outcome, AUDIT_UNKNOWN);
    assert_true(clock_ms_since(start_ns) < SLOW_S * 1000);
    verdict_deinit(&verdict);
}
