/* Whole evaluations of small problems: what becomes of which candidate. */
#include "judge/judge.h"
#include "judge/request/judge_settings.h"
#include "judge/request/language.h"

#include "../support/judging.h"
#include "../support/setting.h"
#include "../support/test.h"
#include "base/clock.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

static struct judge *timing_judge;
static struct problem problem; /* y = 2 x + 1 */

#define HEAD JUDGING_HEAD
#define YAML JUDGING_YAML("[{n: 1}, {n: 1000}]", "[{n: 4096}]")
#define LOOP "    for (size_t i = 0; i < n; i++)\n        y[i] = 2 * x[i] + 1;\n"
#define RIGHT HEAD LOOP "}\n"

FIXTURE(open_all)
{
    static const char *const words[] = {"run.timeout_ms=400ms",   "timing.budget_ms=20ms",
                                        "timing.max_samples=8",   "run.threads=2",
                                        "run.load_timeout_ms=2s", NULL};
    judging_begin(words);
    timing_judge = judging_open(&(struct judge_options){.settings = &judging.settings});
    judging_problem(&problem, judging.place, "twice", YAML, RIGHT);
    return 0;
}

FIXTURE(close_all)
{
    problem_deinit(&problem);
    judge_close(timing_judge);
    return judging_end(state);
}

TEST_GROUP(open_all, close_all);

static void judge_text(const struct problem *of, const char *path, const char *text,
                       struct verdict *verdict)
{
    struct candidate candidate = judging_candidate(path, text);
    session_evaluate(judging.session, of, &candidate, NULL, verdict);
}

/* What a verdict must be consistent in, whatever it says. */
static void check_sense(const char *name, const struct verdict *verdict)
{
    bool passed = verdict->status == STATUS_PASSED;
    bool violation = verdict->status == STATUS_VIOLATION;
    if (passed != verdict->correct || passed != (verdict->error_class == NULL) ||
        (violation && verdict->violation_count == 0) || (passed && !verdict->compiled) ||
        verdict->trials_passed > verdict->trials || strlen(verdict->id) != 32 ||
        (passed && verdict->trials_passed != verdict->trials))
        fail_msg("%s: contradicts itself: %s", name, judging_summary(verdict));
    json_t *json = verdict_json(verdict);
    assert_non_null(json);
    json_decref(json);
}

#define ANY_OF(a, b) ((1U << (a)) | (1U << (b)))

struct row {
    const char *name;
    const char *text;
    uint32_t statuses; /* bits */
    const char *says;  /* part of the message; NULL: anything */
};

static void run_rows(const struct problem *of, const char *path, const struct row *rows,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct verdict verdict;
        judge_text(of, path, rows[i].text, &verdict);
        const char *message = verdict.error_message ? verdict.error_message : "";
        if (!(rows[i].statuses >> verdict.status & 1) ||
            (rows[i].says && !strstr(message, rows[i].says)))
            fail_msg("%s: %s", rows[i].name, judging_summary(&verdict));
        check_sense(rows[i].name, &verdict);
        verdict_deinit(&verdict);
    }
}

#define RUN(of, rows) run_rows(of, "candidate.c", rows, COUNT(rows))

static const struct row answers[] = {
    {"right", RIGHT, 1 << STATUS_PASSED, NULL},
    {"right in double", HEAD "for (size_t i = 0; i < n; i++) y[i] = (float)(2.0 * x[i] + 1);}",
     1 << STATUS_PASSED, NULL},
    {"right with threads",
     HEAD "\n#pragma omp parallel for\nfor (size_t i = 0; i < n; i++) y[i] = x[i] + x[i] + 1;}",
     1 << STATUS_PASSED, NULL},
    {"wrong everywhere", HEAD "for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];}", 1 << STATUS_WRONG,
     "y: 1 of 1 elements are wrong"},
    {"wrong at the end", HEAD LOOP "if (n > 1) y[n - 1] = 0;}", 1 << STATUS_WRONG,
     "y: 1 of 1000 elements are wrong; the first, [999], is 0 instead of"},
    {"writes nothing", HEAD "}", 1 << STATUS_WRONG, "NaN instead of"},
    {"infinite", HEAD LOOP "y[n / 2] = __builtin_inff();}", 1 << STATUS_WRONG, "inf"},
    {"only below its tolerance", HEAD "for (size_t i = 0; i < n; i++) y[i] = 2 * x[i] + 1.001f;}",
     1 << STATUS_WRONG, NULL},
    {"past the end of its output", HEAD LOOP "y[n] = 0;}", 1 << STATUS_WRONG,
     "past the end of `y`"},
    {"far past the end", HEAD LOOP "y[n + 60] = 0;}", 1 << STATUS_WRONG, "past the end of `y`"},
    {"past the end of its input", HEAD LOOP "((float *)x)[n] = 0;}", 1 << STATUS_WRONG,
     "past the end of `x`"},
    {"changes its input", HEAD LOOP "((float *)x)[0] += 1;}", 1 << STATUS_WRONG,
     "changed its input `x`, which is const"},
};

TEST(answers)
{
    RUN(&problem, answers);
}

static const struct row ends[] = {
    {"segmentation fault", HEAD LOOP "*(volatile int *)8 = 0;}", 1 << STATUS_RUNTIME_ERROR,
     "SIGSEGV (Segmentation fault)"},
    {"division by zero", HEAD LOOP "volatile int zero = 0; y[0] = 7 / zero;}",
     1 << STATUS_RUNTIME_ERROR, "SIGFPE"},
    {"illegal instruction", HEAD LOOP "__builtin_trap();}", 1 << STATUS_RUNTIME_ERROR, "SIGILL"},
    {"stack overflow",
     "#include <stddef.h>\nstatic float sink;\n"
     "static int deep(int n) { volatile char room[4096]; room[0] = (char)n;"
     " return n < 0 ? 0 : deep(n + 1) + room[0]; }\n"
     "void solution(const float *x, float *y, size_t n) {" LOOP "sink = deep(0); }",
     1 << STATUS_RUNTIME_ERROR, "SIGSEGV"},
    {"abort", "#include <stdlib.h>\n" HEAD LOOP "abort();}", 1 << STATUS_RUNTIME_ERROR,
     "exited with status 134"},
    {"exit", "#include <stdlib.h>\n" HEAD LOOP "exit(0);}", 1 << STATUS_RUNTIME_ERROR,
     "exited with status 0"},
    {"exit with a number", "#include <unistd.h>\n" HEAD LOOP "_exit(7);}",
     1 << STATUS_RUNTIME_ERROR, "exited with status 7"},
    {"exit in a constructor",
     "#include <stdlib.h>\n__attribute__((constructor)) static void early(void) { exit(0); "
     "}\n" RIGHT,
     ANY_OF(STATUS_RUNTIME_ERROR, STATUS_LOAD_ERROR), "exited with status 0"},
    {"crash in a constructor",
     "__attribute__((constructor)) static void early(void) { *(volatile int *)8 = 0; }\n" RIGHT,
     ANY_OF(STATUS_RUNTIME_ERROR, STATUS_LOAD_ERROR), "SIGSEGV"},
    {"endless loop", HEAD LOOP "for (volatile int i = 0;; i++);}", 1 << STATUS_TIMEOUT,
     "one call took longer than 0.4 s (run.timeout_ms)"},
    {"deadlock",
     "#include <pthread.h>\n" HEAD LOOP "pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n"
     "pthread_mutex_lock(&lock); pthread_mutex_lock(&lock);}",
     1 << STATUS_TIMEOUT, NULL},
    {"no entry point",
     "#include <stddef.h>\nvoid answer(const float *x, float *y, size_t n)\n{" LOOP "}",
     1 << STATUS_LOAD_ERROR, "there is no function `solution`"},
    {"a static entry point",
     "#include <stddef.h>\nstatic " /* the rest of the line is the head's */
     "void solution(const float *x, float *y, size_t n) {" LOOP
     "}\nvoid *user(void) { return solution; }",
     1 << STATUS_LOAD_ERROR, "there is no function `solution`"},
    {"an unknown function", "void missing(float *);\n" HEAD LOOP "missing(y);}",
     ANY_OF(STATUS_LOAD_ERROR, STATUS_COMPILE_ERROR), "missing"},
    {"does not compile", HEAD "    y[0] = x[0]\n}\n", 1 << STATUS_COMPILE_ERROR, "candidate.c:4:"},
    {"empty", "", 1 << STATUS_COMPILE_ERROR, "empty"},
    {"not UTF-8", "/* \xff */" RIGHT, 1 << STATUS_COMPILE_ERROR, "UTF-8"},
};

TEST(ends)
{
    RUN(&problem, ends);
    /* and the reference child stands as before */
    assert_int_equal(judging_status(judging.session, &problem, "again.c", RIGHT), STATUS_PASSED);
}

/* The last one looks like an honest crash: what matters is that it never counts as the judge's
 * fault. */
#define SCAN                                                                                       \
    "#include <stdint.h>\n#include <string.h>\n#include <sys/socket.h>\n"                          \
    "static void say(uint32_t type, size_t bytes)\n{\n"                                            \
    "    static char message[8192];\n    memcpy(message, &type, sizeof type);\n"                   \
    "    for (int fd = 0; fd < 64; fd++)\n"                                                        \
    "        send(fd, message, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);\n}\n"
#define DONE_BYTES "2832" /* of struct wire_done */

static const struct row tricks[] = {
    {"says DONE before it begins", SCAN HEAD "say(8, " DONE_BYTES ");" LOOP "}",
     ANY_OF(STATUS_VIOLATION, STATUS_WRONG), NULL},
    {"says DONE twice", SCAN HEAD LOOP "say(8, " DONE_BYTES "); say(8, " DONE_BYTES ");}",
     ANY_OF(STATUS_VIOLATION, STATUS_WRONG), NULL},
    {"says DONE and never comes back", SCAN HEAD LOOP "say(8, " DONE_BYTES "); for (;;);}",
     ANY_OF(STATUS_VIOLATION, STATUS_TIMEOUT), NULL},
    {"says something too short", SCAN HEAD LOOP "say(8, 12);}", 1 << STATUS_VIOLATION,
     "the protocol does not know"},
    {"says something unknown", SCAN HEAD LOOP "say(99, 4096);}", 1 << STATUS_VIOLATION,
     "the protocol does not know"},
    {"says MAPPED", SCAN HEAD LOOP "say(4, 8);}", 1 << STATUS_VIOLATION, "does not belong there"},
    {"says that it is open in a constructor",
     SCAN "__attribute__((constructor)) static void early(void) { say(4, 8); }\n" RIGHT,
     1 << STATUS_VIOLATION, NULL},
    {"closes its channel",
     "#include <unistd.h>\n" HEAD LOOP "for (int fd = 3; fd < 64; fd++) close(fd); sleep(9);}",
     1 << STATUS_VIOLATION, "closed its channel"},
    {"lets a thread write later",
     "#include <pthread.h>\n#include <unistd.h>\n"
     "static struct { const float *x; float *y; size_t n; } work;\n"
     "static void *late(void *unused) { const float *x = work.x; float *y = work.y;"
     " size_t n = work.n; usleep(30000);\n" LOOP "    return unused; }\n" HEAD
     "    pthread_t thread;\n    work.x = x; work.y = y; work.n = n;\n"
     "    pthread_create(&thread, NULL, late, NULL);\n    pthread_detach(thread);\n}\n",
     ANY_OF(STATUS_VIOLATION, STATUS_WRONG), NULL},
    {"a thread that never stops writing",
     "#include <pthread.h>\n#include <sched.h>\n#include <stddef.h>\n"
     "static volatile float *volatile place;\nstatic volatile size_t rounds;\n"
     "static void *spin(void *unused) { for (;; rounds++) if (place) *place = (float)rounds;"
     " return unused; }\n" HEAD "    static pthread_t thread;\n" LOOP "    place = y;\n"
     "    if (!thread) pthread_create(&thread, NULL, spin, NULL);\n"
     "    for (size_t seen = rounds; rounds < seen + 2;) sched_yield();\n}\n",
     ANY_OF(STATUS_VIOLATION, STATUS_WRONG), NULL},
    {"a thread that ends the process soon",
     "#include <pthread.h>\n#include <unistd.h>\n"
     "static void *stop(void *unused) { (void)unused; usleep(100); _exit(0); }\n"
     "__attribute__((constructor)) static void early(void) { pthread_t thread;"
     " pthread_create(&thread, NULL, stop, NULL); }\n" HEAD "sleep(1);" LOOP "}",
     ANY_OF(STATUS_RUNTIME_ERROR, STATUS_VIOLATION), NULL},
    {"a thread that closes the channel soon",
     "#include <pthread.h>\n#include <unistd.h>\n"
     "static void *stop(void *unused) { usleep(100); for (int fd = 3; fd < 64; fd++) close(fd);"
     " for (;;) pause(); return unused; }\n"
     "__attribute__((constructor)) static void early(void) { pthread_t thread;"
     " pthread_create(&thread, NULL, stop, NULL); }\n" HEAD "sleep(1);" LOOP "}",
     ANY_OF(STATUS_RUNTIME_ERROR, STATUS_VIOLATION), NULL},
};

TEST(tricks)
{
    int before = judging_descriptors();
    RUN(&problem, tricks);
    assert_int_equal(judging_descriptors(), before);
}

/* When a thread ends it all is a race: only the candidate is ever to blame, however it goes. */
TEST(blame)
{
#define SOON(act)                                                                                  \
    "#include <pthread.h>\n#include <time.h>\n#include <unistd.h>\n"                               \
    "static void *stop(void *unused) { struct timespec now;"                                       \
    " clock_gettime(CLOCK_MONOTONIC, &now); usleep(now.tv_nsec % 1000); " act                      \
    " return unused; }\n"                                                                          \
    "__attribute__((constructor)) static void early(void) { pthread_t thread;"                     \
    " pthread_create(&thread, NULL, stop, NULL); }\n" RIGHT
    static const char *const texts[] = {
        SOON("_exit(0);"),
        SOON("for (int fd = 3; fd < 64; fd++) close(fd);"),
    };
    for (int i = 0; i < 30; i++) {
        struct verdict verdict;
        judge_text(&problem, "soon.c", texts[i % 2], &verdict);
        if (verdict.status == STATUS_INFRASTRUCTURE_ERROR)
            fail_msg("%s", judging_summary(&verdict));
        check_sense("soon", &verdict);
        verdict_deinit(&verdict);
    }
}

TEST(language)
{
    static const struct {
        const char *path, *text, *language;
    } rows[] = {
        {"a.c", "int a;", "c"},
        {"dir.py/a.c", "int a;", "c"},
        {"a.cu", "int a;", "cuda"},
        {"a.cuh", "int a;", "cuda"},
        {"a.cpp", "int a;", "cpp"},
        {"a.cc", "int a;", "cpp"},
        {"dir.c/a.cxx", "int a;", "cpp"},
        {"a.cpp", "__global__ void f();", "cuda"},
        {"a.c", "extern \"C\" void solution() {}", "c"},
        {"a", "extern \"C\" void solution() {}", "cpp"},
        {"", "#include <vector>\nvoid solution() {}", "cpp"},
        {"", "# include <bits/stdc++.h>\n", "cpp"},
        {"", "static inline float f(float x) { return ::std::exp(x); }", "cpp"},
        {"", "extern \"C\" __global__ void f();", "cuda"},
        {"", "#include <math.h>\n/* as std::sort, extern \"C\" */ // std::\nint a;", "c"},
        {"", "const char *a = \"std::\\\"std::\", b = '\\''; extern int c;", "c"},
        {"", "#ifdef __cplusplus\n#if 1\nextern \"C\" {\n#endif\n#include <new>\n#endif\nint a;",
         "c"},
        {"", "#ifdef __cplusplus\n#endif\nextern \"C\" int a;", "cpp"},
        {"", "#if !defined(__cplusplus)\n#else\nusing std::exp;\n#endif\nint mystd;", "c"},
        {"", "/* never closed extern \"C\"", "c"},
        {"a.c", "__global__ void f();", "cuda"},
        {"a", "int a;", "c"},
        {"a.py", "import torch", "python"},
        {"a.py", "@triton.jit\ndef f(): pass", "triton"},
        {"a.py", "load_inline(cuda_sources=[source])", "torch-cuda"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(language_of(NULL, rows[i].path, rows[i].text)->name, rows[i].language);
    struct verdict verdict;
    judge_text(&problem, "a.py", "import torch\n", &verdict);
    assert_int_equal(verdict.status, STATUS_UNSUPPORTED);
    assert_non_null(strstr(verdict.error_message, "twice"));
    check_sense("python", &verdict);
    verdict_deinit(&verdict);
}

#define CPP "#include <cstddef>\n#include <stdexcept>\n#include <thread>\n#include <vector>\n"
#define CPP_HEAD "extern \"C\" void solution(const float *x, float *y, std::size_t n)\n{"

static const struct row cpp[] = {
    {"containers and templates",
     CPP "template <typename T> static T twice(T x) { return 2 * x + 1; }\n" CPP_HEAD
         "std::vector<float> t(x, x + n); for (std::size_t i = 0; i < n; i++)"
         " y[i] = twice(t[i]); }",
     1 << STATUS_PASSED, NULL},
    {"an exception", CPP CPP_HEAD "throw std::out_of_range(\"row 3\"); }",
     1 << STATUS_RUNTIME_ERROR, "instance of 'std::out_of_range': row 3"},
    {"a number as an exception, on a thread", CPP CPP_HEAD "std::thread([] { throw 3; }).join(); }",
     1 << STATUS_RUNTIME_ERROR, "instance of 'int'"},
    {"an exception where none may be",
     CPP "static void f() noexcept { throw 3; }\n" CPP_HEAD "f(); }", 1 << STATUS_RUNTIME_ERROR,
     "instance of 'int'"},
    {"a thread that is not joined", CPP CPP_HEAD "std::thread t([] {}); }",
     1 << STATUS_RUNTIME_ERROR, "terminate called without an active exception"},
    {"an exception in a static constructor",
     CPP
     "static struct early { early() { throw std::runtime_error(\"no table\"); } } one;\n" CPP_HEAD
     "}",
     1 << STATUS_RUNTIME_ERROR, "instance of 'std::runtime_error': no table"},
    {"a number as an exception, in a static constructor",
     CPP "static int early() { throw 3; }\nstatic int one = early();\n" CPP_HEAD
         "y[0] = (float)one; }",
     1 << STATUS_RUNTIME_ERROR, "instance of 'int'"},
    {"an abort in a static constructor",
     CPP "#include <cstdio>\n#include <cstdlib>\nstatic struct early { early() {"
         " std::fputs(\"not an exception\\n\", stderr); std::abort(); } } one;\n" CPP_HEAD "}",
     1 << STATUS_RUNTIME_ERROR, "exited with status 134"},
    {"words in a static constructor",
     CPP "#include <cstdio>\nstatic struct early { early() {"
         " std::fputs(\"terminate called, or not\\n\", stderr); } } one;\n" CPP_HEAD
         "std::fputs(\"said\\n\", stderr); throw 4; }",
     1 << STATUS_RUNTIME_ERROR, "instance of 'int'"},
    {"an exception that is caught",
     CPP CPP_HEAD "try { throw 2; } catch (int k) {"
                  " for (std::size_t i = 0; i < n; i++) y[i] = (float)k * x[i] + 1; } }",
     1 << STATUS_PASSED, NULL},
    {"a C++ name",
     CPP "void solution(const float *x, float *y, std::size_t n) {"
         " for (std::size_t i = 0; i < n; i++) y[i] = 2 * x[i]; }",
     1 << STATUS_LOAD_ERROR, "extern \"C\""},
    {"no name", CPP, 1 << STATUS_LOAD_ERROR, "there is no function `solution`"},
    {"C's keyword", CPP CPP_HEAD "float *restrict z = y; z[0] = x[0]; }", 1 << STATUS_COMPILE_ERROR,
     "candidate.cpp:6:"},
};

TEST(cpp)
{
    run_rows(&problem, "candidate.cpp", cpp, COUNT(cpp));
}

/* What a passing verdict has to say of itself. */
TEST(identity)
{
    struct verdict verdict;
    char hash[HASH_HEX_BYTES];
    judge_text(&problem, "some/where/twice.c", RIGHT, &verdict);
    assert_int_equal(verdict.status, STATUS_PASSED);
    assert_string_equal(verdict.problem_id, "twice");
    assert_string_equal(verdict.problem_format, "native");
    assert_string_equal(verdict.problem_hash, problem.hash);
    assert_string_equal(verdict.candidate_path, "some/where/twice.c");
    assert_string_equal(verdict.candidate_language, "c");
    hash_bytes(RIGHT, strlen(RIGHT), hash);
    assert_string_equal(verdict.candidate_hash, hash);
    assert_true(verdict.compiled && verdict.build_cached); /* test_answers has built it */
    assert_true(verdict.layers != 0 && verdict.peak_memory_bytes > 0);
    assert_string_equal(verdict.timing_note, "not asked for");
    assert_true(verdict.max_relative < 1e-5);
    verdict_deinit(&verdict);
}

TEST(broken_reference)
{
    static const struct {
        const char *name, *reference, *says;
    } rows[] = {
        {"refbad", HEAD "    y[0] = x[0]\n}\n", "does not compile"},
        {"refcrash", HEAD "*(volatile int *)8 = 0;}", "SIGSEGV"},
        {"refslow", HEAD "for (;;);}", "took longer"},
        {"refgone", "int solution;", NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct problem broken;
        struct verdict verdict;
        judging_problem(&broken, judging.place, rows[i].name, YAML, rows[i].reference);
        for (int again = 0; again < 2; again++) {
            judge_text(&broken, "right.c", RIGHT, &verdict);
            if (verdict.status != STATUS_INFRASTRUCTURE_ERROR ||
                strcmp(verdict.error_class, "reference") != 0 ||
                !strstr(verdict.error_message, rows[i].name) ||
                (rows[i].says && !strstr(verdict.error_message, rows[i].says)))
                fail_msg("%s: %s", rows[i].name, judging_summary(&verdict));
            check_sense(rows[i].name, &verdict);
            verdict_deinit(&verdict);
        }
        problem_deinit(&broken);
    }
    assert_int_equal(judging_status(judging.session, &problem, "right.c", RIGHT), STATUS_PASSED);
}

TEST(cancel)
{
    static const char *const texts[] = {
        HEAD "for (volatile int i = 0;; i++);}",
        "__attribute__((constructor)) static void early(void) { for (volatile int i = 0;; i++); "
        "}\n" RIGHT,
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct verdict verdict;
        set(&judging.settings, "run.timeout_ms=1m");
        pthread_t thread = support_set_after(&judging.cancelled, 50);
        judge_text(&problem, "loop.c", texts[i], &verdict);
        pthread_join(thread, NULL);
        set(&judging.settings, "run.timeout_ms=400");
        if (verdict.status != STATUS_CANCELLED)
            fail_msg("%s", judging_summary(&verdict));
        verdict_deinit(&verdict);
        judging.cancelled = 0;
        assert_int_equal(judging_status(judging.session, &problem, "right.c", RIGHT),
                         STATUS_PASSED);
    }
}

struct stopping {
    _Atomic int *flag;
    int how;
};

static void *stop_soon(void *argument)
{
    const struct stopping *stopping = argument;
    struct timespec pause = {.tv_nsec = 200000000};
    nanosleep(&pause, NULL);
    *stopping->flag = stopping->how;
    return NULL;
}

/* One evaluation's own settings and its own end; the next one has the judge's again. */
TEST(terms)
{
    static const char loop[] = HEAD "for (volatile size_t i = 0;; i++) {}}";
    static const struct {
        int how;
        enum verdict_status status;
    } rows[] = {
        {EVALUATION_CANCELLED, STATUS_CANCELLED},
        {EVALUATION_OUT_OF_TIME, STATUS_TIMEOUT},
    };
    struct settings patient;
    judging_settings(&patient, judging.place);
    set(&patient, "run.timeout_ms=1m");
    for (size_t i = 0; i < COUNT(rows); i++) {
        _Atomic int stopped = EVALUATION_GOES_ON;
        struct evaluation_terms terms = {.settings = &patient, .stopped = &stopped};
        struct stopping stopping = {.flag = &stopped, .how = rows[i].how};
        struct candidate candidate = judging_candidate("loop.c", loop);
        struct verdict verdict;
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, stop_soon, &stopping), 0);
        session_evaluate(judging.session, &problem, &candidate, &terms, &verdict);
        pthread_join(thread, NULL);
        if (verdict.status != rows[i].status)
            fail_msg("%s", judging_summary(&verdict));
        check_sense("stopped", &verdict);
        verdict_deinit(&verdict);
        judge_text(&problem, "loop.c", loop, &verdict);
        assert_int_equal(verdict.status, STATUS_TIMEOUT);
        assert_string_equal(verdict.error_class, "timeout");
        verdict_deinit(&verdict);
        assert_int_equal(judging_status(judging.session, &problem, "right.c", RIGHT),
                         STATUS_PASSED);
    }
    settings_deinit(&patient);
}

/* The stages are the whole: nothing is counted twice. */
TEST(stages_add_up)
{
    static const char *const texts[] = {RIGHT, HEAD "y[0] = x[0];}", "int broken"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct session *timed = session_new(timing_judge);
        struct candidate candidate = judging_candidate("candidate.c", texts[i]);
        struct verdict verdict;
        double sum_ms = 0;
        int64_t start_ns = clock_now_ns();
        session_evaluate(timed, &problem, &candidate, NULL, &verdict);
        double whole_ms = clock_ms_since(start_ns);
        for (int stage = 0; stage < STAGE_COUNT; stage++)
            sum_ms += verdict.stages_ms[stage];
        if (sum_ms > whole_ms || sum_ms < whole_ms * 0.9)
            fail_msg("the stages of %s take %g of %g ms", texts[i], sum_ms, whole_ms);
        verdict_deinit(&verdict);
        session_free(timed);
    }
}

/* Correctness only, of a judge that times. */
TEST(terms_without_timing)
{
    struct session *timed = session_new(timing_judge);
    struct evaluation_terms terms = {.no_timing = true};
    struct candidate candidate = judging_candidate("right.c", RIGHT);
    struct verdict verdict;
    session_evaluate(timed, &problem, &candidate, &terms, &verdict);
    assert_int_equal(verdict.status, STATUS_PASSED);
    assert_int_equal(verdict.case_count, 0);
    verdict_deinit(&verdict);
    session_evaluate(timed, &problem, &candidate, NULL, &verdict);
    assert_int_equal(verdict.case_count, 1);
    verdict_deinit(&verdict);
    session_free(timed);
}

static void time_text(const struct problem *of, const char *text, struct verdict *verdict)
{
    struct session *timed = session_new(timing_judge);
    struct candidate candidate = judging_candidate("timed.c", text);
    session_evaluate(timed, of, &candidate, NULL, verdict);
    session_free(timed);
    check_sense("timed", verdict);
}

TEST(timing)
{
    struct verdict verdict;
    time_text(&problem, RIGHT, &verdict);
    if (verdict.status != STATUS_PASSED)
        fail_msg("%s", judging_summary(&verdict));
    assert_int_equal(verdict.case_count, 1);
    const struct timed_case *timed = &verdict.cases[0];
    assert_string_equal(timed->sizes, "n=4096");
    assert_in_range(timed->candidate.n, (size_t)timing_settings(&judging.settings)->min_samples,
                    (size_t)timing_settings(&judging.settings)->max_samples);
    assert_int_equal(timed->candidate.n, timed->reference.n);
    assert_true(timed->candidate.median > 0 && timed->reference.median > 0);
    assert_true(timed->speedup.low <= timed->speedup.value &&
                timed->speedup.value <= timed->speedup.high);
    assert_int_equal(verdict.kernel_count, 1);
    assert_true(verdict.kernels[0].own && verdict.own_time_fraction == 1);
    assert_true(verdict.dispatch_overhead_us > 0);
    verdict_deinit(&verdict);
}

/* Every timed call is checked: a candidate that turns bad after the checks is wrong. */
TEST(timed_calls_count)
{
    struct verdict verdict;
    time_text(&problem,
              "#include <stddef.h>\nstatic int calls;\n" HEAD LOOP
              "if (n == 4096 && ++calls > 2) y[n / 3] = 0;}",
              &verdict);
    if (verdict.status != STATUS_WRONG)
        fail_msg("%s", judging_summary(&verdict));
    verdict_deinit(&verdict);
    time_text(&problem, HEAD LOOP "if (n == 4096) __builtin_trap();}", &verdict);
    if (verdict.status != STATUS_RUNTIME_ERROR)
        fail_msg("%s", judging_summary(&verdict));
    verdict_deinit(&verdict);
}

/* A time that this machine cannot reach is refused, not reported. */
TEST(floor)
{
    struct problem heavy;
    struct verdict verdict;
    judging_problem(&heavy, judging.place, "heavy", YAML "work: {flops: 1e13, bytes: 1e12}\n",
                    RIGHT);
    time_text(&heavy, RIGHT, &verdict);
    if (verdict.status != STATUS_VIOLATION || strcmp(verdict.violations[0].code, "H28") != 0)
        fail_msg("%s", judging_summary(&verdict));
    verdict_deinit(&verdict);
    problem_deinit(&heavy);
}

/* Sessions leave nothing behind: no descriptor, no process. */
TEST(nothing_left)
{
    struct judge *own = judging_open(
        &(struct judge_options){.settings = &judging.settings, .no_timing = true});
    siginfo_t info;
    int before = 0;
    for (int round = 0; round < 4; round++) {
        struct session *mine = session_new(own);
        for (size_t i = 0; i < 4; i++) {
            struct verdict verdict;
            struct candidate candidate = judging_candidate("candidate.c", i < 2
                                                                              ? answers[i * 4].text
                                                                              : ends[i * 3].text);
            session_evaluate(mine, &problem, &candidate, NULL, &verdict);
            verdict_deinit(&verdict);
        }
        session_free(mine);
        if (round == 0)
            before = judging_descriptors(); /* with the judge's own, lazily made */
        assert_int_equal(judging_descriptors(), before);
        memset(&info, 0, sizeof info);
        assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), 0);
        assert_int_equal(info.si_pid, 0); /* no zombie */
    }
    judge_close(own);
}
