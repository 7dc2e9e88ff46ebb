#include "base/setting.h"

#include "../support/test.h"
#include "base/file.h"
#include "base/log_settings.h"
#include "judge/request/judge_settings.h"
#include "problem/problem_settings.h"
#include "queue/queue_settings.h"
#include "server/server_settings.h"

#include <stdlib.h>
#include <unistd.h>

static void assert_error(const struct err *err, const char *part)
{
    if (!strstr(err->text, part))
        fail_msg("'%s' does not say '%s'", err->text, part);
}

TEST(defaults)
{
    struct settings settings;
    settings_init(&settings);
    assert_string_equal(cache_settings(&settings)->directory, "");
    assert_true(cache_settings(&settings)->max_bytes == (uint64_t)2 << 30);
    assert_int_equal(compile_settings(&settings)->timeout_ms, 30000);
    assert_true(compile_settings(&settings)->memory_bytes == (uint64_t)2 << 30);
    assert_int_equal(run_settings(&settings)->timeout_ms, 10000);
    assert_int_equal(run_settings(&settings)->load_timeout_ms, 60000);
    assert_true(run_settings(&settings)->memory_bytes == (uint64_t)2 << 30);
    assert_true(run_settings(&settings)->scratch_bytes == (uint64_t)256 << 20);
    assert_false(run_settings(&settings)->threads.given);
    assert_int_equal(check_settings(&settings)->trials, 3);
    assert_true(timing_settings(&settings)->target == 0.05);
    assert_int_equal(timing_settings(&settings)->budget_ms, 10);
    assert_int_equal(timing_settings(&settings)->min_samples, 6);
    assert_int_equal(timing_settings(&settings)->max_samples, 400);
    assert_string_equal(python_settings(&settings)->path, "");
    assert_string_equal(problems_settings(&settings)->path, "");
    assert_int_equal(settings_check(&settings, NULL), 0);
    for (size_t i = 0; i < settings_count(); i++)
        assert_int_equal(settings_origin(&settings, settings_path(i)), ORIGIN_DEFAULT);
    settings_deinit(&settings);
}

static const struct {
    const char *assignment;
    double value; /* where it was accepted: of the first field that it may touch */
    const char *error;
} assignments[] = {
    {"run.timeout_ms=250", 250, NULL},
    {"run.timeout_ms=250ms", 250, NULL},
    {"run.timeout_ms=10s", 10000, NULL},
    {"run.timeout_ms=1.5s", 1500, NULL},
    {"run.timeout_ms=2 m", 120000, NULL},
    {"run.timeout_ms=1h", 3600000, NULL},
    {"run.timeout_ms=0", 0, "run.timeout_ms: '0' is outside 1ms to 24h"},
    {"run.timeout_ms=1.5", 0, "'1.5' is not a duration"},
    {"run.timeout_ms=-1", 0, "is not a duration"},
    {"run.timeout_ms=0x10", 0, "is not a duration"},
    {"run.timeout_ms=inf", 0, "is not a duration"},
    {"run.timeout_ms=10sec", 0, "is not a duration (write 250ms, 10s, 2m or 1h)"},
    {"run.timeout_ms=", 0, "is not a duration"},
    {"run.timeout_ms=1e400", 0, "is not a duration"},
    {"cache.max_bytes=0", 0, NULL},
    {"cache.max_bytes=4096", 4096, NULL},
    {"cache.max_bytes=512MiB", 512 << 20, NULL},
    {"cache.max_bytes=1.5GiB", 1.5 * (1 << 30), NULL},
    {"cache.max_bytes=1GB", 1e9, NULL},
    {"cache.max_bytes=1e3", 1000, NULL},
    {"cache.max_bytes=2048TiB", 0, "is outside 0 to 1024TiB"},
    {"cache.max_bytes=2 gigs", 0, "is not a size"},
    {"run.threads=8", 8, NULL},
    {"run.threads=-1", 0, "'-1' is outside 1 to 4096"},
    {"run.threads=8.5", 0, "is not a whole number"},
    {"run.threads= 8", 0, "is not a whole number"},
    {"run.threads=99999999999999999999", 0, "is not a whole number"},
    {"timing.target=0.05", 0.05, NULL},
    {"timing.target=5e-2", 0.05, NULL},
    {"timing.target=0", 0, "'0' is outside 0.0001 to 1"},
    {"timing.target=nan", 0, "is not a number"},
    {"timing.target=0.05x", 0, "is not a number"},
    {"run.timeout=10s", 0, "unknown setting 'run.timeout'; did you mean 'run.timeout_ms'?"},
    {"xyzzy=1", 0, "unknown setting 'xyzzy'"},
    {"=1", 0, "unknown setting ''"},
    {"run.threads", 0, "'run.threads' is not KEY=VALUE"},
    {"python.path=/opt/a=b/python3", 0, NULL},
    {"python.path=/opt/\n", 0, "holds a control character"},
    {"python.path=/opt/\xff", 0, "python.path:1: is not UTF-8"},
    {"python.path= ", 0, "holds nothing but white space"},
    {"python.path=", 0, "python.path: empty; write auto, or leave it out"},
    {"python.path=auto", 0, NULL},
    {"run.threads=auto", 0, NULL},
};

TEST(assignments)
{
    for (size_t i = 0; i < COUNT(assignments); i++) {
        struct settings settings;
        struct err err = {0};
        const char *text = assignments[i].assignment;
        settings_init(&settings);
        int result = settings_assign(&settings, text, &err);
        if (assignments[i].error) {
            assert_true(result < 0);
            assert_error(&err, assignments[i].error);
        } else {
            if (result < 0)
                fail_msg("%s: %s", text, err.text);
            double value = strncmp(text, "run.timeout", 11) == 0
                               ? (double)run_settings(&settings)->timeout_ms
                           : strncmp(text, "cache", 5) == 0
                               ? (double)cache_settings(&settings)->max_bytes
                           : strncmp(text, "run.threads", 11) == 0
                               ? (double)run_settings(&settings)->threads.value
                           : strncmp(text, "timing", 6) == 0 ? timing_settings(&settings)->target
                                                             : 0;
            assert_true(value == assignments[i].value);
        }
        settings_deinit(&settings);
    }
}

static const struct {
    const char *text, *error;
} files[] = {
    {"", NULL},
    {"\n\n", NULL},
    {"# nothing but a comment\n", NULL},
    {"---\n", NULL},
    {"run:\n  # all comments\n", NULL},
    {"run: {threads: 5}\n", NULL},
    {"run:\n  threads: 5\n  timeout_ms: 3s\ntiming:\n  target: 0.5\n", NULL},
    {"run:\n  threads: \"5\"\n", NULL},
    {"run: 5\n", "f.yaml:1:6: expected a mapping"},
    {"5\n", "f.yaml:1:1: expected a mapping"},
    {"run:\n  threads: many\n", "f.yaml:2:12: run.threads: 'many' is not a whole number"},
    {"run:\n  threads:\n", "run.threads: '' is not a whole number"},
    {"run:\n  thread: 5\n", "f.yaml:2:3: unknown setting 'run.thread'; did you mean"},
    {"rum:\n  threads: 5\n", "f.yaml:1:1: unknown section 'rum'; did you mean 'run'?"},
    {"run.threads: 5\n", "unknown section 'run.threads'"},
    {"run:\n  threads: [5]\n", "f.yaml:2:12: lists and aliases have no place"},
    {"run:\n  threads: {a: 5}\n", "expected a single value"},
    {"run: &a {threads: 5}\ntiming: *a\n", "aliases have no place"},
    {"run:\n  threads: !!int 5\n", "anchors and tags"},
    {"? {a: b}\n: c\n", "an explicit key"},
    {"run:\n  threads: 5\n  threads: 6\n", "f.yaml:3:"},
    {"run: {threads: 5}\nrun: {threads: 6}\n", "f.yaml:2:"},
    {"run: {threads: 5}\n---\nrun: {timeout_ms: 6}\n", "one document"},
    {"run: {threads: 5\n", "f.yaml:"},
    {"run: \"\\0\"\n", "NUL"},
    {"\xff\xfe", "f.yaml:1: is not UTF-8"},
    {"run: \x80", "f.yaml:1: is not UTF-8"},
};

TEST(yaml)
{
    for (size_t i = 0; i < COUNT(files); i++) {
        struct settings settings;
        struct err err = {0};
        settings_init(&settings);
        int result = settings_read_yaml(&settings, "f.yaml", files[i].text, strlen(files[i].text),
                                        &err);
        if (files[i].error) {
            if (result == 0)
                fail_msg("accepted: %s", files[i].text);
            assert_error(&err, files[i].error);
        } else {
            if (result < 0)
                fail_msg("refused: %s: %s", files[i].text, err.text);
            if (strstr(files[i].text, "threads: "))
                assert_int_equal(run_settings(&settings)->threads.value, 5);
        }
        settings_deinit(&settings);
    }
}

TEST(environment)
{
    static const struct {
        const char *variable, *error;
    } rows[] = {
        {"HOME=/root", NULL},
        {"WARPGYM_RUN_THREADS=5", NULL},
        {"WARPGYM_CONFIG=/x", NULL},
        {"WARPGYM_PYTHON_PATH=", NULL}, /* as if it were not set */
        {"WARPGYM_RUN_TIMEOUT_MS=", "is not a duration"},
        {"WARPGYM_PYTHON=/x", NULL},
        {"WARPGYM_CC=gcc", NULL},
        {"WARPGYM_PORT=tcp://10.0.0.1:10907", NULL},
        {"WARPGYM_PORT_10907_TCP_ADDR=10.0.0.1", NULL},
        {"WARPGYM_SERVICE_HOST=10.0.0.1", NULL},
        {"WARPGYM_SERVER_SERVICE_HOST=10.0.0.1", NULL},
        {"WARPGYM_SERVER_SERVICE_PORT_HTTP=10907", NULL},
        {"WARPGYM_SERVER_PORT=tcp://10.0.0.1:10907", NULL},
        {"WARPGYM_SERVER_PORT_10907_TCP_PORT=10907", NULL},
        {"WARPGYM_SERVER_PORTAL=1", "unknown setting 'WARPGYM_SERVER_PORTAL'"},
        {"WARPGYM_", NULL},
        {"WARPGYM_RUN_THREADS=five", "WARPGYM_RUN_THREADS: run.threads: 'five' is not"},
        {"WARPGYM_RUN_THREAD=5",
         "unknown setting 'WARPGYM_RUN_THREAD'; did you mean 'WARPGYM_RUN_THREADS'"},
        {"WARPGYM_LOG=debug", NULL},
        {"WARPGYM_RUM_THREADS=5", "did you mean 'WARPGYM_RUN_THREADS'?"},
        {"WARPGYM_RUN_SOMETHING_ELSE=5", "unknown setting 'WARPGYM_RUN_SOMETHING_ELSE'"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct settings settings;
        struct err err = {0};
        char *variable = support_text("%s", rows[i].variable);
        char *environment[] = {variable, NULL};
        settings_init(&settings);
        int result = settings_read_environment(&settings, environment, &err);
        if ((result < 0) != (rows[i].error != NULL))
            fail_msg("%s: %s", rows[i].variable, result < 0 ? err.text : "accepted");
        if (rows[i].error)
            assert_error(&err, rows[i].error);
        settings_deinit(&settings);
    }
}

static size_t index_of(const char *path)
{
    size_t index = 0;
    while (index < settings_count() && strcmp(settings_path(index), path) != 0)
        index++;
    return index;
}

/* As a file has it, without quotes. */
static void assert_value(const struct settings *settings, const char *path, const char *expected)
{
    struct buf shown;
    buf_init(&shown, 10000);
    settings_show_value(settings, index_of(path), &shown);
    char *quoted = support_text("\"%s\"", expected);
    if (strcmp(shown.data, quoted) != 0)
        assert_string_equal(shown.data, expected);
    buf_deinit(&shown);
}

/* KernelGYM's names: what they set, and what is another program's. */
TEST(kernelgym_names)
{
    static const struct {
        const char *variables[5]; /* NULL-terminated */
        const char *path, *value, *source;
    } rows[] = {
        {{"API_HOST=0.0.0.0", "API_PORT=8001"}, "server.listen", "0.0.0.0:8001", "API_HOST"},
        {{"API_HOST=::1"}, "server.listen", "[::1]:10907", "API_HOST"},
        {{"API_PORT=8001"}, "server.listen", "127.0.0.1:8001", "API_PORT"},
        {{"API_PORT=tcp://10.0.0.1:80"}, "server.listen", "127.0.0.1:10907", NULL},
        {{"API_PORT=70000"}, "server.listen", "127.0.0.1:10907", NULL},
        {{"API_HOST=https://api.example.com"}, "server.listen", "127.0.0.1:10907", NULL},
        {{"API_HOST=", "API_PORT="}, "server.listen", "127.0.0.1:10907", NULL},
        {{"API_PORT=8001", "WARPGYM_SERVER_LISTEN=[::1]:9"},
         "server.listen",
         "[::1]:9",
         "WARPGYM_SERVER_LISTEN"},
        {{"REDIS_HOST=head"}, "queue.url", "redis://head:6379", "REDIS_HOST"},
        {{"REDIS_HOST=fd00::1", "REDIS_PORT=7000", "REDIS_DB=2", "REDIS_PASSWORD=a:b@c/ %"},
         "queue.url",
         "redis://:a%3Ab%40c%2F%20%25@[fd00::1]:7000/2",
         "REDIS_HOST"},
        {{"REDIS_PORT=tcp://10.0.0.1:6379"}, "queue.url", "auto", NULL},
        {{"REDIS_HOST=head", "REDIS_PORT=tcp://10.0.0.1:6379"},
         "queue.url",
         "redis://head:6379",
         "REDIS_HOST"},
        {{"REDIS_PASSWORD=secret"}, "queue.url", "auto", NULL},
        {{"GPU_DEVICES=[0, 1]"}, "gpu.devices", "0,1", "GPU_DEVICES"},
        {{"GPU_DEVICES=3"}, "gpu.devices", "3", "GPU_DEVICES"},
        {{"GPU_DEVICES=[]"}, "gpu.devices", "all", NULL},
        {{"GPU_DEVICES=none"}, "gpu.devices", "all", NULL},
        {{"LOG_LEVEL=WARNING"}, "log.level", "warn", "LOG_LEVEL"},
        {{"LOG_LEVEL=debug"}, "log.level", "debug", "LOG_LEVEL"},
        {{"LOG_LEVEL=trace"}, "log.level", "warn", NULL},
        {{"WARPGYM_LOG=info", "LOG_LEVEL=debug"}, "log.level", "info", "WARPGYM_LOG"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct settings settings;
        struct err err = {0};
        settings_init(&settings);
        if (settings_read_environment(&settings, (char *const *)rows[i].variables, &err) < 0)
            fail_msg("%s: %s", rows[i].variables[0], err.text);
        static const char *const paths[] = {"server.listen", "queue.url", "gpu.devices",
                                            "log.level"};
        for (size_t k = 0; k < COUNT(paths); k++) {
            const char *source = settings_source(&settings, paths[k]);
            bool meant = strcmp(paths[k], rows[i].path) == 0;
            assert_true(meant || !source);
            if (!meant)
                continue;
            assert_value(&settings, paths[k], rows[i].value);
            if (rows[i].source)
                assert_string_equal(source, rows[i].source);
            else
                assert_null(source);
        }
        settings_deinit(&settings);
    }
}

TEST(precedence)
{
    char *file = support_text("%s/config.yaml", support_directory());
    static const char text[] = "run: {threads: 1, timeout_ms: 1}\ncheck: {trials: 1}\n";
    assert_int_equal(file_write_atomic(file, text, strlen(text), 0600, NULL), 0);
    setenv("WARPGYM_CONFIG", file, 1);
    setenv("WARPGYM_RUN_THREADS", "2", 1);
    setenv("WARPGYM_RUN_TIMEOUT_MS", "2", 1);
    struct settings settings;
    struct err err = {0};
    settings_init(&settings);
    assert_ok(settings_load(&settings, NULL, &err), &err);
    assert_int_equal(settings_assign(&settings, "run.threads=3", &err), 0);
    assert_int_equal(run_settings(&settings)->threads.value, 3);
    assert_int_equal(run_settings(&settings)->timeout_ms, 2);
    assert_int_equal(check_settings(&settings)->trials, 1);
    assert_int_equal(compile_settings(&settings)->timeout_ms, 30000);
    assert_int_equal(settings_origin(&settings, "run.threads"), ORIGIN_COMMAND_LINE);
    assert_int_equal(settings_origin(&settings, "run.timeout_ms"), ORIGIN_ENVIRONMENT);
    assert_int_equal(settings_origin(&settings, "check.trials"), ORIGIN_FILE);
    settings_deinit(&settings);
    unlink(file);
    settings_init(&settings);
    assert_int_equal(settings_load(&settings, NULL, &err), ERR_MISSING);
    assert_error(&err, "WARPGYM_CONFIG: /tmp/");
    settings_deinit(&settings);
    unsetenv("WARPGYM_CONFIG");
    unsetenv("WARPGYM_RUN_THREADS");
    unsetenv("WARPGYM_RUN_TIMEOUT_MS");
}

/* Each error once, in the order of the file, with its place; the cross-field ones come last. */
TEST(every_error_at_once)
{
    static const char text[] =
        "gym: {reward: kevinn}\n"
        "train: {method: trlooo, estimator: nosuch, loss: foo, learner: foo, "
        "backend: foo}\n"
        "gpu: {devices: \"0,x\"}\n"
        "policy: {url: htp://x, temperature: 99}\n"
        "client: {url: nonsense}\n"
        "timing:\n"
        "  foo: [1, {a: b}]\n"
        "  min_samples: 500\n"
        "  target: 0.5\n"
        "  target: 0.4\n"
        "what: {a: [1], b: 2}\n"
        "gum: 5\n"
        "queue: {url: [1]}\n";
    static const char *const expected[] = {
        "f:1:15: gym.reward: unknown value 'kevinn'; did you mean 'kevin'?",
        "f:2:17: train.method: unknown value 'trlooo'; did you mean 'trloo'?",
        "f:2:36: train.estimator: unknown value 'nosuch'; choose one of auto, trloo, grpo",
        ("f:2:50: train.loss: unknown value 'foo'; choose one of importance_sampling, ppo, cispo, "
         "dro"),
        "f:2:55: unknown setting 'train.learner'",
        "f:2:78: train.backend: unknown value 'foo'; choose one of engine, tinker",
        "f:3:16: gpu.devices: 'x' is neither an ordinal nor a UUID",
        "f:4:15: policy.url: unknown policy 'htp://x'",
        "f:4:37: policy.temperature: '99' is outside 0 to 10",
        "f:5:15: client.url: 'nonsense' is not a server's address",
        "f:7:3: unknown setting 'timing.foo'",
        "f:10:11: this setting is given twice",
        "f:11:1: unknown section 'what'; choose one of log, cache",
        "f:12:1: unknown section 'gum'; did you mean 'gym'?",
        "f:13:14: lists and aliases have no place in settings",
        "f:8:16: timing.min_samples (500) is above timing.max_samples (400)",
    };
    struct settings settings;
    struct err err = {0};
    settings_init(&settings);
    assert_int_equal(settings_read_yaml(&settings, "f", text, strlen(text), &err), ERR_INPUT);
    assert_error(&err, expected[0]);
    assert_int_equal(settings_check(&settings, &err), ERR_INPUT);
    assert_error(&err, expected[COUNT(expected) - 1]);
    for (size_t i = 0; i < COUNT(expected); i++) {
        const char *found = setting_errors_at(&settings.errors, i);
        if (!found || strncmp(found, expected[i], strlen(expected[i])) != 0)
            fail_msg("'%s', not '%s'", found ? found : "no error", expected[i]);
    }
    assert_null(setting_errors_at(&settings.errors, COUNT(expected)));
    assert_true(timing_settings(&settings)->target == 0.5); /* what is right was read */
    settings_deinit(&settings);
}

/* No setting with words takes another one, and all name what they take. */
TEST(words)
{
    size_t tried = 0;
    for (const struct setting_section *const *at = setting_registry.sections; *at; at++)
        for (const struct setting_row *row = (*at)->rows; row < (*at)->rows + (*at)->count; row++) {
            struct settings settings;
            struct err err = {0};
            const char *word;
            if (row->kind != KIND_WORD)
                continue;
            settings_init(&settings);
            for (size_t i = 0; (word = word_at(row->words, i)); i++) {
                assert_int_equal(settings_set(&settings, row->path, word, ORIGIN_FILE, &err), 0);
                assert_value(&settings, row->path, word);
                char *slip = support_text("%s%c", word, word[strlen(word) - 1]);
                assert_int_equal(settings_set(&settings, row->path, slip, ORIGIN_FILE, &err),
                                 ERR_INPUT);
                assert_error(&err, row->path);
                assert_error(&err, "did you mean '");
                assert_error(&err, word);
            }
            assert_int_equal(settings_set(&settings, row->path, "zzzzzzzz", ORIGIN_FILE, &err),
                             ERR_INPUT);
            assert_error(&err, "; choose one of ");
            assert_error(&err, word_at(row->words, 0));
            assert_int_equal(settings_set(&settings, row->path, "", ORIGIN_FILE, &err), ERR_INPUT);
            tried++;
            settings_deinit(&settings);
        }
    assert_true(tried >= 35);
}

/* auto and none: for each setting that has them, and for no other. */
TEST(absent_values)
{
    for (const struct setting_section *const *at = setting_registry.sections; *at; at++)
        for (const struct setting_row *row = (*at)->rows; row < (*at)->rows + (*at)->count; row++) {
            struct settings settings;
            settings_init(&settings);
            if (row->absent) {
                assert_int_equal(settings_set(&settings, row->path, row->absent, ORIGIN_FILE, NULL),
                                 0);
                assert_value(&settings, row->path, row->absent);
                assert_true(settings_set(&settings, row->path, "", ORIGIN_FILE, NULL) < 0);
            } else if (row->kind == KIND_INT || row->kind == KIND_FLOAT) {
                assert_true(settings_set(&settings, row->path, "auto", ORIGIN_FILE, NULL) < 0);
                assert_true(row->low >= 0); /* -1 stands for nothing */
            }
            settings_deinit(&settings);
        }
}

TEST(values_that_do_not_go_together)
{
    struct settings settings;
    struct err err = {0};
    settings_init(&settings);
    assert_int_equal(settings_assign(&settings, "timing.min_samples=500", &err), 0);
    assert_int_equal(settings_check(&settings, &err), ERR_INPUT);
    assert_error(&err, "timing.min_samples (500) is above timing.max_samples (400)");
    settings_deinit(&settings);
}

TEST(shown_values_read_back)
{
    static const char *const changes[] = {"run.timeout_ms=1234", "cache.max_bytes=1000001",
                                          "timing.target=0.123456789012345678",
                                          "python.path=/a \"b\" \\ c: #d", "problems.path=/x:/y"};
    struct settings one, two;
    struct err err = {0};
    struct buf text, again;
    settings_init(&one);
    settings_init(&two);
    buf_init(&text, 1 << 16);
    buf_init(&again, 1 << 16);
    for (size_t i = 0; i < COUNT(changes); i++)
        assert_int_equal(settings_assign(&one, changes[i], &err), 0);
    settings_show(&one, &text);
    if (settings_read_yaml(&two, "shown", text.data, text.len, &err) < 0)
        fail_msg("%s\n%s", err.text, text.data);
    assert_string_equal(python_settings(&two)->path, python_settings(&one)->path);
    assert_true(timing_settings(&two)->target == timing_settings(&one)->target);
    settings_show(&two, &again);
    assert_int_equal(settings_difference(&one, &two, 0), settings_count());
    for (const char *a = text.data, *b = again.data; *a || *b;) { /* origins apart */
        assert_int_equal(strcspn(a, "#"), strcspn(b, "#"));
        assert_memory_equal(a, b, strcspn(a, "#"));
        a += strcspn(a, "\n") + (a[strcspn(a, "\n")] != '\0');
        b += strcspn(b, "\n") + (b[strcspn(b, "\n")] != '\0');
    }
    buf_deinit(&text);
    buf_deinit(&again);
    settings_deinit(&one);
    settings_deinit(&two);
}

/* From either variable, and never shown. */
TEST(secret)
{
    static const char *const variables[] = {"WARPGYM_TOKEN=hush", "WARPGYM_SERVER_TOKEN=hush"};
    for (size_t i = 0; i < COUNT(variables); i++) {
        struct settings settings, again;
        struct buf text;
        char *variable = support_text("%s", variables[i]);
        char *environment[] = {variable, NULL};
        settings_init(&settings);
        settings_init(&again);
        buf_init(&text, 100000);
        assert_int_equal(settings_read_environment(&settings, environment, NULL), 0);
        assert_string_equal(server_settings(&settings)->token, "hush");
        settings_show(&settings, &text);
        assert_null(strstr(text.data, "hush"));
        assert_non_null(strstr(text.data, "  # token: not shown # environment WARPGYM_"));
        assert_int_equal(settings_read_yaml(&again, "shown", text.data, text.len, NULL), 0);
        assert_string_equal(server_settings(&again)->token, "");
        buf_deinit(&text);
        settings_deinit(&again);
        settings_deinit(&settings);
    }
}

TEST(secrets_are_not_shown)
{
    static const struct {
        const char *assignment, *secret;
    } rows[] = {{"server.token=correct-horse", "correct-horse"},
                {"queue.url=redis://me:battery@head", "battery"},
                {"queue.url=redis://:staple@head:1/2", "staple"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct settings settings;
        struct buf text;
        settings_init(&settings);
        buf_init(&text, 100000);
        assert_int_equal(settings_assign(&settings, rows[i].assignment, NULL), 0);
        settings_show(&settings, &text);
        assert_null(strstr(text.data, rows[i].secret));
        assert_non_null(strstr(text.data, ": not shown # command line\n"));
        buf_deinit(&text);
        settings_deinit(&settings);
    }
}

/* Whatever is known of a machine, the file reads back to it. */
TEST(template)
{
    static const struct settings_choice choices[] = {
        {"run.threads", "7", "Because."},
        {"python.path", "/a \"b\" \\ c", "One line.\nAnother line."},
        {"gpu.devices", NULL, "There is none here."},
    };
    for (size_t count = 0; count <= COUNT(choices); count++) {
        struct settings settings;
        struct err err = {0};
        struct buf text;
        settings_init(&settings);
        buf_init(&text, 100000);
        settings_template("A heading\nof two lines.", choices, count, &text);
        if (settings_read_yaml(&settings, "t", text.data, text.len, &err) < 0)
            fail_msg("%s\n%s", err.text, text.data);
        size_t given = 0;
        for (size_t i = 0; i < settings_count(); i++)
            given += settings_origin(&settings, settings_path(i)) != ORIGIN_DEFAULT;
        assert_int_equal(given, count < 2 ? count : 2);
        assert_int_equal(run_settings(&settings)->threads.value, count > 0 ? 7 : 0);
        if (count > 1)
            assert_string_equal(python_settings(&settings)->path, choices[1].value);
        for (const char *line = text.data; *line; line += strcspn(line, "\n") + 1)
            assert_true(strcspn(line, "\n") <= 100);
        assert_non_null(strstr(text.data, "# A heading\n# of two lines.\n"));
        assert_int_equal(strstr(text.data, "# There is none here.\n  # devices: \"all\"\n") != NULL,
                         count == 3);
        buf_deinit(&text);
        settings_deinit(&settings);
    }
}

/* The files that are written have each section once. */
TEST(sections_stand_together)
{
    for (size_t i = 1; i < settings_count(); i++)
        for (size_t j = 0; j + 1 < i; j++) {
            size_t section = strcspn(settings_path(i), ".") + 1;
            if (strncmp(settings_path(i), settings_path(j), section) == 0 &&
                strncmp(settings_path(i), settings_path(i - 1), section) != 0)
                fail_msg("%s stands apart from %s", settings_path(i), settings_path(j));
        }
}

TEST(descriptions)
{
    struct buf text, markdown;
    buf_init(&text, 100000);
    buf_init(&markdown, 100000);
    settings_describe(&text);
    settings_describe_markdown(&markdown);
    assert_non_null(strstr(text.data, "  run.timeout_ms         duration, default 10s, 1ms to 24h\n"
                                      "      Time limit of one call"));
    assert_non_null(strstr(markdown.data, "| `timing.target` | `WARPGYM_TIMING_TARGET` | number | "
                                          "`0.05` | 0.0001 to 1 | Sampling stops"));
    buf_deinit(&text);
    buf_deinit(&markdown);
}
