/* The whole way of a trace: libwarpgym_trace.so in this process, a CUPTI of ours that says what the
 * driver was asked for (tests/fake/cupti.c), the stream, the reader. */
#include "../support/test.h"
#include "judge/child/tracing.h"
#include "judge/measure/trace.h"
#include "judge/measure/trace_stream.h"
#include "judge/trace/cupti.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    int (*prepare)(const char *path);
    void (*snapshot)(void);
    int (*begin)(const char *path);
    int (*end)(int fd);
    int (*refusal)(void);
    int (*inject)(void);
} trace;

static struct {
    void (*call)(uint32_t function, void *const *arguments, int result, uint32_t correlation);
    void (*stage)(uint32_t function, void *const *arguments, uint32_t correlation);
    void (*staged)(void);
    void (*kernel)(const struct cupti_kernel *kernel);
    void (*copy)(const struct cupti_copy *copy);
    void (*drop)(size_t count);
    int (*watches)(uint32_t function);
    int (*records)(void);
} fake;

static char fake_path[PATH_MAX + 32];
static char library_path[PATH_MAX + 32];
static const void *own_code; /* in a file of the scratch */

static void *find(void *library, const char *name)
{
    void *symbol = library ? dlsym(library, name) : NULL;
    if (!symbol)
        fprintf(stderr, "%s: %s\n", name, dlerror());
    return symbol;
}

static bool load_all(void)
{
    void *library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
    void *cupti = dlopen(fake_path, RTLD_NOW | RTLD_LOCAL);
    const struct {
        void *to;
        void *symbol;
    } wanted[] = {
        {&trace.prepare, find(library, "warpgym_trace_prepare")},
        {&trace.snapshot, find(library, "warpgym_trace_library_snapshot")},
        {&trace.begin, find(library, "warpgym_trace_begin")},
        {&trace.end, find(library, "warpgym_trace_end")},
        {&trace.refusal, find(library, "warpgym_trace_refusal")},
        {&trace.inject, find(library, "InitializeInjection")},
        {&fake.call, find(cupti, "fake_cupti_call")},
        {&fake.stage, find(cupti, "fake_cupti_stage")},
        {&fake.staged, find(cupti, "fake_cupti_staged")},
        {&fake.kernel, find(cupti, "fake_cupti_kernel")},
        {&fake.copy, find(cupti, "fake_cupti_copy")},
        {&fake.drop, find(cupti, "fake_cupti_drop")},
        {&fake.watches, find(cupti, "fake_cupti_watches")},
        {&fake.records, find(cupti, "fake_cupti_records")},
    };
    for (size_t i = 0; i < COUNT(wanted); i++) {
        if (!wanted[i].symbol)
            return false;
        memcpy(wanted[i].to, &wanted[i].symbol, sizeof wanted[i].symbol);
    }
    return true;
}

/* Beside this program: build/tests/judge/test_…, build/tests/fake, and the child's library, which
 * is never instrumented but built in each variant. */
FIXTURE(find_all)
{
    char self[PATH_MAX] = "";
    if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0)
        return -1;
    for (int up = 0; up < 2; up++)
        *strrchr(self, '/') = '\0';
    snprintf(fake_path, sizeof fake_path, "%s/fake/cupti.so", self);
    *strrchr(self, '/') = '\0';
    snprintf(library_path, sizeof library_path, "%s/libwarpgym_trace.so", self);
    return load_all() ? chdir(support_directory()) : -1;
}

TEST_GROUP(find_all, NULL);

enum { PREPARE = 1, INJECT = 2, BEGIN = 4, END = 8 };

static int attempt(int steps, const char *path)
{
    int result = 0;
    if (steps & PREPARE)
        result = trace.prepare(path);
    if (result == 0 && (steps & INJECT) && trace.inject() != 1)
        return 100; /* the driver would not start */
    if (result == 0 && (steps & BEGIN))
        result = trace.begin(NULL);
    if (result == 0 && (steps & END))
        result = trace.end(-1);
    return result;
}

static const struct {
    int steps;
    const char *cupti, *fail, *version;
    int result, refusal;
} failures[] = {
    {PREPARE, NULL, NULL, NULL, 0, 0},
    {PREPARE | INJECT | BEGIN, NULL, NULL, NULL, 0, 0},
    {PREPARE, "/nowhere/libcupti.so", NULL, NULL, -1, 0},
    {PREPARE, "libm.so.6", NULL, NULL, -1, 0},
    {PREPARE, NULL, NULL, "17", -2, 0},
    {PREPARE, NULL, NULL, "18", 0, 0},
    {PREPARE, NULL, "cuptiGetVersion", NULL, -3, 999},
    {PREPARE | BEGIN, NULL, NULL, NULL, -4, 0},
    {PREPARE | INJECT | BEGIN, NULL, "cuptiSubscribe", NULL, -3, 999},
    {PREPARE | INJECT | BEGIN, NULL, "cuptiActivityEnable", NULL, -3, 999},
    {PREPARE | INJECT | BEGIN, NULL, "cuptiActivityRegisterCallbacks", NULL, -3, 999},
    {PREPARE | INJECT | END, NULL, NULL, NULL, -5, 0},
    {PREPARE | INJECT | BEGIN | END, NULL, "cuptiActivityFlushAll", NULL, -3, 999},
    {PREPARE | INJECT | BEGIN | END, NULL, NULL, NULL, -6, 0},
};

/* First, before this process itself prepares anything. */
TEST(failures)
{
    for (size_t i = 0; i < COUNT(failures); i++) {
        int status;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            if (failures[i].fail)
                setenv("FAKE_CUPTI_FAIL", failures[i].fail, 1);
            if (failures[i].version)
                setenv("FAKE_CUPTI_VERSION", failures[i].version, 1);
            int result = attempt(failures[i].steps,
                                 failures[i].cupti ? failures[i].cupti : fake_path);
            bool quiet = result == 0 || !fake.watches(CUPTI_LAUNCH_KERNEL);
            _exit(result == failures[i].result && trace.refusal() == failures[i].refusal && quiet
                      ? 0
                      : 1 + (-result));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status != 0)
            fail_msg("row %zu: status %x", i, (unsigned)status);
    }
}

/* As a native child has it: 0, or the number of the step that went wrong. */
static int child_steps(void)
{
    struct tracing tracing;
    struct err problem = {0};
    int fd = memfd_create("trace", MFD_CLOEXEC);
    tracing_load(&tracing, "/nowhere/libwarpgym_trace.so", fake_path);
    if (tracing.library || getenv("CUDA_INJECTION64_PATH") ||
        tracing_begin(&tracing, &problem) != ERR_MISSING || !strstr(problem.text, "/nowhere/"))
        return 1;
    tracing_snapshot(&tracing);
    tracing_load(&tracing, library_path, "/nowhere/libcupti.so");
    if (tracing.library || tracing_begin(&tracing, &problem) != ERR_UNSUPPORTED ||
        !strstr(problem.text, "no CUPTI on this machine"))
        return 2;
    tracing_load(&tracing, library_path, fake_path);
    const char *injected = getenv("CUDA_INJECTION64_PATH");
    if (!tracing.library || !injected || strcmp(injected, library_path) != 0)
        return 3;
    if (tracing_begin(&tracing, &problem) != ERR_UNSUPPORTED ||
        !strstr(problem.text, "the driver did not load"))
        return 4;
    trace.inject();
    tracing_snapshot(&tracing);
    if (tracing_begin(&tracing, &problem) != 0 || tracing_end(&tracing, fd, &problem) != 0)
        return 5;
    return lseek(fd, 0, SEEK_END) > 0 ? 0 : 6;
}

TEST(child)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(child_steps());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static char handles[64]; /* addresses serve as handles */
static struct verdict verdict;
static struct err err;

static void load_image(int module, const void *image)
{
    void *handle = &handles[module];
    fake.call(CUPTI_MODULE_LOAD_DATA, (void *const[]){&handle, (void *)(uintptr_t)image}, 0, 1);
}

static void get_function(int function, int module, const char *name)
{
    void *handle = &handles[function];
    fake.call(CUPTI_MODULE_GET_FUNCTION,
              (void *const[]){&handle, &handles[module], (void *)(uintptr_t)name}, 0, 2);
}

static void launch(uint32_t function, void *const *arguments, uint32_t correlation)
{
    fake.call(function, arguments, 0, correlation);
}

static void ran(const char *name, uint32_t correlation, uint64_t start_us, bool in_graph)
{
    struct cupti_kernel kernel = {.kind = CUPTI_CONCURRENT_KERNEL,
                                  .name = name,
                                  .correlation = correlation,
                                  .start_ns = start_us * 1000,
                                  .end_ns = start_us * 1000 + 1000,
                                  .stream = 7,
                                  .registers = 40,
                                  .grid = {2, 3, 4},
                                  .block = {32, 2, 1},
                                  .static_bytes = 16,
                                  .dynamic_bytes = 32,
                                  .local_bytes = 8,
                                  .graph_node = in_graph ? 12345 : 0};
    fake.kernel(&kernel);
}

/* What a pass says of the kernel of that name. */
static struct kernel_share share_of(const char *name)
{
    for (uint32_t i = 0; i < verdict.kernel_count; i++)
        if (strcmp(verdict.kernels[i].name, name) == 0)
            return verdict.kernels[i];
    fail_msg("%s is not in the profile", name);
    return (struct kernel_share){0};
}

static void finish(uint32_t calls)
{
    const struct trace_pass pass = {.calls = calls, .wall_ms = 1e6, .timed_ms = NAN};
    int fd = memfd_create("trace", MFD_CLOEXEC);
    assert_int_equal(trace.end(fd), 0);
    verdict_init(&verdict);
    assert_ok(trace_read(fd, &pass, &verdict, &err), &err);
    close(fd);
}

/* A file of the candidate's: a copy of some library, in the scratch. */
static void *copy_own(void)
{
    struct stat facts = {0};
    int from = open(fake_path, O_RDONLY | O_CLOEXEC);
    int to = open("own.so", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0700);
    assert_true(from >= 0 && to >= 0 && fstat(from, &facts) == 0);
    assert_true(sendfile(to, from, NULL, (size_t)facts.st_size) == facts.st_size);
    close(from);
    close(to);
    return dlopen("./own.so", RTLD_NOW | RTLD_LOCAL);
}

/* An installed library that is loaded after the snapshot, under a name in the scratch. */
static const void *linked_late(void)
{
    struct link_map *map;
    char path[PATH_MAX];
    void *library = dlopen("libBrokenLocale.so.1", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    snprintf(path, sizeof path, "%s", map->l_name);
    dlclose(library);
    assert_null(dlopen("libBrokenLocale.so.1", RTLD_NOW | RTLD_NOLOAD)); /* not of the snapshot */
    assert_int_equal(symlink(path, "link.so"), 0);
    library = dlopen("./link.so", RTLD_NOW | RTLD_LOCAL);
    return find(library, "__ctype_get_mb_cur_max");
}

static void start(void **state)
{
    assert_int_equal(trace.prepare(fake_path), 0);
    assert_int_equal(trace.inject(), 1);
    /* Nothing of launches is watched, so nothing of them is paid for. */
    assert_false(fake.watches(CUPTI_LAUNCH_KERNEL) || fake.watches(CUPTI_LAUNCH_KERNEL_EX));
    assert_true(fake.watches(CUPTI_MODULE_LOAD_DATA) && fake.watches(CUPTI_LIBRARY_LOAD_DATA));
    trace.snapshot();
    own_code = find(copy_own(), "fake_cupti_call");
}

struct wrapper {
    uint32_t magic, version;
    const void *data, *more;
};

/* Every way to bring code, under a name of its own. */
TEST(origins)
{
    static const char cubin[] = "made at run time";
    char *in_memory = malloc(sizeof cubin); /* this program's own data lie in its file */
    assert_non_null(in_memory);
    memcpy(in_memory, cubin, sizeof cubin);
    start(state);
    struct wrapper honest = {.magic = 0x466243b1, .version = 1, .data = own_code};
    struct wrapper borrowed = {.magic = 0x466243b1, .version = 1, .data = (const void *)&qsort};
    const void *library_code = (void *)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort");
    borrowed.data = library_code;
    const struct {
        const char *name;
        const void *image;
        bool own;
    } ways[] = {
        {"a library's file", library_code, false},
        {"a candidate's file", own_code, true},
        {"a candidate's wrapper", &honest, true},
        {"a wrapper around a library", &borrowed, false},
        {"memory, by the main program", in_memory, true},
        {"an installed file by another name", linked_late(), false},
    };
    int n = COUNT(ways);
    for (int i = 0; i < n; i++) {
        load_image(2 * i, ways[i].image);
        get_function(2 * i + 1, 2 * i, ways[i].name);
    }
    /* A library that generates code: here libc, or a sanitizer's stand-in for its function, which
     * calls what was staged. */
    void *handle = &handles[40];
    pthread_once_t once = PTHREAD_ONCE_INIT;
    Dl_info caller;
    assert_int_not_equal(dladdr(dlsym(RTLD_DEFAULT, "pthread_once"), &caller), 0);
    fake.stage(CUPTI_LIBRARY_LOAD_DATA, (void *const[]){&handle, in_memory}, 3);
    pthread_once(&once, fake.staged);
    get_function(41, 40, "memory, by a library");
    assert_int_equal(trace.begin(NULL), 0);
    for (int i = 0; i < n; i++) {
        launch(CUPTI_LAUNCH_KERNEL, (void *const[]){&handles[2 * i + 1]}, 100 + (uint32_t)i);
        ran(ways[i].name, 100 + (uint32_t)i, 10 * (uint64_t)i, false);
    }
    launch(CUPTI_LAUNCH_KERNEL_EX, (void *const[]){NULL, &handles[41]}, 200);
    ran("memory, by a library", 200, 500, false);
    finish(1);
    for (int i = 0; i < n; i++)
        if (share_of(ways[i].name).own != ways[i].own)
            fail_msg("%s: own %d, from %s", ways[i].name, !ways[i].own,
                     share_of(ways[i].name).source);
    struct kernel_share generated = share_of("memory, by a library");
    assert_false(generated.own);
    assert_non_null(strstr(generated.source, strrchr(caller.dli_fname, '/') + 1));
    assert_int_equal(verdict.launched.launches, n + 1);
    assert_false(fake.watches(CUPTI_LAUNCH_KERNEL) || fake.records());
    verdict_deinit(&verdict);
    free(in_memory);
}

TEST(matching)
{
    static char by_kernel[] = "by a kernel";
    static char failed[] = "failed";
    /* handles 0 and 2 are modules of a library and of the candidate, from the test before */
    get_function(20, 0, "both");
    get_function(21, 2, "both");
    get_function(22, 2, "mine in a graph");
    void *kernel = &handles[30]; /* by way of a library's kernel, as the runtime does it */
    fake.call(CUPTI_LIBRARY_GET_KERNEL, (void *const[]){&kernel, &handles[2], by_kernel}, 0, 4);
    void *function = &handles[31];
    fake.call(CUPTI_KERNEL_GET_FUNCTION, (void *const[]){&function, kernel}, 0, 5);
    fake.call(CUPTI_MODULE_GET_FUNCTION, (void *const[]){&function, &handles[0], failed}, 500, 6);
    ran("before the pass", 1, 0, false);
    assert_int_equal(trace.begin(NULL), 0);
    launch(CUPTI_LAUNCH_KERNEL, (void *const[]){&handles[20]}, 10);
    ran("both", 10, 10, false);
    launch(CUPTI_LAUNCH_COOPERATIVE, (void *const[]){&handles[21]}, 11);
    ran("both", 11, 20, false);
    launch(CUPTI_LAUNCH_KERNEL, (void *const[]){function}, 12);
    ran("_Z4plusIfEvPT_", 12, 30, false);
    launch(CUPTI_GRAPH_LAUNCH, (void *const[]){NULL}, 13);
    ran("mine in a graph", 13, 40, true);
    ran("both", 13, 50, true);
    ran("never loaded", 14, 60, false);
    launch(CUPTI_LAUNCH_KERNEL, (void *const[]){&handles[50]}, 15);
    ran("loading not seen", 15, 70, false); /* launched by this program: it passes on */
    fake.copy(&(struct cupti_copy){
        .kind = CUPTI_COPY, .kinds = {8}, .bytes = 64, .start_ns = 80000, .end_ns = 90000});
    fake.copy(&(struct cupti_copy){.kind = CUPTI_SET, .start_ns = 90000, .end_ns = 91000});
    fake.drop(2);
    finish(2);
    struct kernel_share both[2] = {{0}};
    for (uint32_t i = 0; i < verdict.kernel_count; i++)
        if (strcmp(verdict.kernels[i].name, "both") == 0)
            both[verdict.kernels[i].own] = verdict.kernels[i];
    assert_int_equal(both[1].launches, 1);
    assert_int_equal(both[0].launches, 2); /* the graph's: of unknown origin, so not its own */
    assert_true(share_of("mine in a graph").own);
    assert_false(share_of("never loaded").own);
    assert_true(share_of("loading not seen").own);
    struct kernel_share plus = share_of(dlopen("libstdc++.so.6", RTLD_NOW | RTLD_NOLOAD)
                                            ? "void plus<float>(float*)"
                                            : "_Z4plusIfEvPT_");
    assert_true(plus.own);
    assert_int_equal(plus.registers, 40);
    assert_int_equal(plus.shared_bytes, 48);
    assert_int_equal(plus.local_bytes, 8);
    assert_int_equal(plus.grid[0] * 100 + plus.grid[1] * 10 + plus.grid[2], 234);
    assert_int_equal(plus.block[0] * 10 + plus.block[1], 322);
    assert_int_equal(share_of("[copy DtoD]").launches, 1);
    assert_int_equal(share_of("[memset]").launches, 1);
    assert_int_equal(verdict.launched.launches, 9);
    assert_non_null(strstr(verdict.warnings[0].evidence, "2 launches are missing"));
    verdict_deinit(&verdict);
}

/* Kernels that are listed, and asked for their names; a launch that the driver refuses. */
TEST(listed)
{
    void *listed[] = {&handles[52], &handles[53]};
    const char *name = "listed";
    fake.call(CUPTI_LIBRARY_ENUMERATE, (void *const[]){listed, (void *)2, &handles[2]}, 0, 1);
    fake.call(CUPTI_KERNEL_GET_NAME, (void *const[]){&name, listed[1]}, 0, 2);
    assert_int_equal(trace.begin(NULL), 0);
    fake.call(CUPTI_LAUNCH_KERNEL, (void *const[]){&handles[3]}, 1, 20); /* invalid value */
    launch(CUPTI_GRAPH_LAUNCH, (void *const[]){NULL}, 21);
    ran("listed", 21, 10, true);
    launch(CUPTI_LAUNCH_KERNEL, (void *const[]){listed[0]}, 22);
    ran("listed, launched", 22, 20, false);
    finish(1);
    assert_true(share_of("listed").own);
    assert_true(share_of("listed, launched").own);
    assert_int_equal(verdict.warning_count, 1);
    assert_string_equal(verdict.warnings[0].code, "H15");
    verdict_deinit(&verdict);
}

/* A handle that the driver gives anew stands for what it was given for last. */
TEST(handles_return)
{
    for (int round = 0; round < 2; round++) {
        load_image(60, round == 0 ? own_code : (void *)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort"));
        get_function(61, 60, round == 0 ? "first life" : "second life");
        assert_int_equal(trace.begin(NULL), 0);
        launch(CUPTI_LAUNCH_KERNEL, (void *const[]){&handles[61]}, 1);
        ran("anew", 1, 0, false);
        finish(1);
        assert_int_equal(share_of("anew").own, round == 0);
        verdict_deinit(&verdict);
    }
}

/* More than there is room for is counted; what there is room for is right. */
TEST(flood)
{
    assert_int_equal(trace.begin(NULL), 0);
    for (uint32_t i = 0; i < TRACE_RECORDS + 1000; i++) {
        launch(CUPTI_LAUNCH_KERNEL, (void *const[]){&handles[3]}, 1000 + i);
        ran("a candidate's file", 1000 + i, 2 * i, false);
    }
    finish(1);
    assert_int_equal(verdict.kernel_count, 1);
    assert_int_equal(verdict.warning_count, 1);
    assert_int_equal(verdict.launched.own_launches, TRACE_RECORDS);
    assert_non_null(strstr(verdict.warnings[0].evidence, "1000 launches are missing"));
    verdict_deinit(&verdict);
}

/* Any number of names and handles. */
TEST(flood_of_names)
{
    for (uintptr_t i = 1; i < 100000; i++) {
        char name[64];
        void *handle = (void *)(0x1000 + 16 * i);
        snprintf(name, sizeof name, "a rather long name of a kernel, number %zu", (size_t)i);
        fake.call(CUPTI_MODULE_GET_FUNCTION, (void *const[]){&handle, &handles[2], name}, 0, 2);
    }
    assert_int_equal(trace.begin(NULL), 0);
    launch(CUPTI_LAUNCH_KERNEL, (void *const[]){&handles[3]}, 7);
    ran("a candidate's file", 7, 0, false);
    finish(1);
    assert_true(share_of("a candidate's file").own);
    verdict_deinit(&verdict);
}
