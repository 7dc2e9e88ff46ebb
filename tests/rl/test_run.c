/* A run's directory: what may differ when it goes on, cutting to the last checkpoint whatever it
 * was killed at, full disks, tags. run_checks.py looks at the same with packages that read it. */
#include "run_writer.h"

#include "../support/test.h"
#include "base/limits.h"
#include "rl/run/checkpoints.h"
#include "rl/run/run_settings.h"
#include "rl/run/run_view.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILLS 40
#define STEPS 23

static char *root;
static struct settings settings;

FIXTURE(set_up)
{
    settings_init(&settings);
    root = support_directory();
    return 0;
}

FIXTURE(tear_down)
{
    settings_deinit(&settings);
    return 0;
}

TEST_GROUP(set_up, tear_down);

static char *in(const char *name)
{
    return support_text("%s/%s", root, name);
}

static char *contents(const char *directory, const char *name)
{
    char *text = NULL;
    size_t count;
    struct err err;
    assert_ok(file_read(support_text("%s/%s", directory, name), (size_t)1 << 24, &text, &count,
                        &err),
              &err);
    return support_keep(text);
}

static void write_file(const char *directory, const char *name, const char *text, bool append)
{
    char *path = support_text("%s/%s", directory, name);
    int fd = open(path, O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC), 0644);
    assert_true(fd >= 0);
    assert_int_equal(file_write_fd(fd, path, text, strlen(text), NULL), 0);
    close(fd);
}

static void assert_same(const char *one, const char *other, const char *name)
{
    assert_string_equal(contents(one, name), contents(other, name));
}

/* In a process of its own, as locks are of processes. 0, or a code's value. */
static int in_child(const char *directory, uint64_t steps)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        int result = writer_run(directory, &settings, steps, NULL, NULL);
        _exit(-result);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? -WEXITSTATUS(status) : 1;
}

static const struct change {
    const char *assignment;
    const char *complaint; /* NULL: it may differ */
} changes[] = {
    {"gym.turns=7", "gym.turns 4, now it is 7"},
    {"gym.gamma=0.5", "gym.gamma \"auto\", now it is 0.5"},
    {"policy.model=other", "policy.model \"auto\", now it is \"other\""},
    {"log.level=debug", NULL},
    {"policy.url=http://elsewhere", NULL},
    {"policy.token=secret", NULL}, /* it is not written down */
    {"queue.attempts=9", NULL},
};

static void make_begun(const char *directory)
{
    support_write(directory, RUN_METRICS, "{}\n");
}

/* What was made with the settings of before holds them; what made nothing yet binds nothing. */
TEST(settings_of_nothing)
{
    struct settings changed;
    char *directory = in("nothing");
    assert_int_equal(file_make_directories(directory, 0755, NULL), 0);
    settings_init(&changed);
    assert_int_equal(settings_assign(&changed, "gym.turns=7", NULL), 0);
    assert_int_equal(run_settings_settle(directory, &settings, NULL), 0);
    assert_int_equal(run_settings_settle(directory, &changed, NULL), 0);
    make_begun(directory);
    assert_int_equal(run_settings_settle(directory, &settings, NULL), ERR_INPUT);
    assert_int_equal(run_settings_settle(directory, &changed, NULL), 0);
    settings_deinit(&changed);
}

TEST(settings)
{
    struct err err;
    make_begun(root);
    for (size_t i = 0; i < COUNT(changes); i++) {
        struct settings changed;
        settings_init(&changed);
        assert_int_equal(settings_assign(&changed, changes[i].assignment, &err), 0);
        assert_int_equal(run_settings_settle(root, &settings, &err), 0);
        const char *was = contents(root, RUN_CONFIG);
        int result = run_settings_settle(root, &changed, &err);
        const char *is = contents(root, RUN_CONFIG);
        assert_int_equal(result, changes[i].complaint ? ERR_INPUT : 0);
        if (changes[i].complaint) {
            assert_non_null(strstr(err.text, changes[i].complaint));
            assert_string_equal(was, is);
        }
        assert_null(strstr(is, "secret"));
        settings_deinit(&changed);
    }
}

/* A row that names nothing guards nothing. */
TEST(free_rows)
{
    const char *row;
    for (size_t i = 0; (row = run_settings_may_differ(i)); i++) {
        bool found = false;
        for (size_t k = 0; k < settings_count(); k++)
            found |= row[strlen(row) - 1] == '.' ? strncmp(settings_path(k), row, strlen(row)) == 0
                                                 : strcmp(settings_path(k), row) == 0;
        if (!found)
            fail_msg("%s", row);
    }
}

TEST(whole)
{
    json_t *all;
    char *directory = in("whole");
    assert_int_equal(in_child(directory, 9), 0);
    char *metrics = contents(directory, RUN_METRICS);
    assert_non_null(strstr(metrics, "{\"step\":2,\"reward/mean\":0.18126924692201"));
    assert_non_null(strstr(metrics, "\"mismatch/mismatch_kl\":null"));
    assert_int_equal(run_checkpoints(directory, &all, NULL), 0);
    assert_int_equal(json_array_size(all), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(all, 1), "step")), 8);
    json_decref(all);
    /* Going on where all is done does the steps behind the last checkpoint again. */
    assert_int_equal(in_child(directory, 9), 0);
    assert_string_equal(contents(directory, RUN_METRICS), metrics);
}

/* What a death, a full disk or a person may leave behind the last checkpoint (8 of 10 steps). */
static const struct damage {
    const char *file, *text;
    bool append;
    int result;
} damages[] = {
    {RUN_METRICS, "{\"step\":10,\"rew", true, 0},
    {RUN_METRICS, "\n\n{}\nnonsense", true, 0},
    {RUN_TRACES, "{", true, 0},
    {RUN_CHECKPOINTS, "{\"name\":\"step-00012\",\"st", true, 0},
    {RUN_CHECKPOINTS,
     "{\"name\":\"x\",\"step\":99,\"where\":\"checkpoints/gone\",\"state\":{},\"lengths\":{}}\n",
     true, 0},
    {"train.log", "{\"time\":", true, 0},
    {"status.json", "{\"pha", false, 0},
    {RUN_METRICS, "{\"step\":0}\n", false, ERR_INPUT}, /* shorter than its checkpoint */
    {RUN_CHECKPOINTS, "{\"name\":\"x\"}\n", true, ERR_INPUT},
    {RUN_CHECKPOINTS, "nonsense\n", true, ERR_INPUT},
    {RUN_CONFIG, "gym:\n  turms: 3\n", false, ERR_INPUT},
};

TEST(damages)
{
    char *clean = in("clean");
    assert_int_equal(in_child(clean, 10), 0);
    for (size_t i = 0; i < COUNT(damages); i++) {
        const struct damage *damage = &damages[i];
        char *directory = support_text("%s/damaged%zu", root, i);
        assert_int_equal(in_child(directory, 10), 0);
        write_file(directory, damage->file, damage->text, damage->append);
        if (in_child(directory, 10) != damage->result)
            fail_msg("%s %s", damage->file, damage->text);
        if (damage->result == 0) {
            assert_same(directory, clean, RUN_METRICS);
            assert_same(directory, clean, RUN_TRACES);
        }
    }
}

static size_t count_checkpoints(const char *directory)
{
    json_t *all;
    struct err err;
    assert_ok(run_checkpoints(directory, &all, &err), &err);
    size_t count = json_array_size(all);
    json_decref(all);
    return count;
}

static void remove_in(const char *directory, const char *name)
{
    file_remove_tree(support_text("%s/%s", directory, name));
}

TEST(older_checkpoint)
{
    char *directory = in("older"), *clean = in("clean");
    assert_int_equal(in_child(clean, 10), 0);
    assert_int_equal(in_child(directory, 10), 0);
    remove_in(directory, "checkpoints/step-00008");
    assert_int_equal(count_checkpoints(directory), 1);
    assert_int_equal(in_child(directory, 10), 0);
    assert_same(directory, clean, RUN_METRICS);
    remove_in(directory, "checkpoints");
    assert_int_equal(in_child(directory, 10), 0);
    assert_same(directory, clean, RUN_METRICS);
    assert_same(directory, clean, RUN_TRACES);
    assert_int_equal(count_checkpoints(directory), 2);
}

static int lines_of(const char *directory, const char *name)
{
    bool there = file_exists(support_text("%s/%s", directory, name));
    int lines = 0;
    for (const char *at = there ? contents(directory, name) : ""; (at = strchr(at, '\n')); at++)
        lines++;
    return lines;
}

/* Killed after some steps more, or at any instant at all. True: it was too late. */
static bool run_and_kill(const char *directory, unsigned *seed)
{
    int status, wanted = lines_of(directory, RUN_METRICS) + (int)(rand_r(seed) % 7);
    bool at_once = rand_r(seed) % 3 == 0;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(writer_run(directory, &settings, STEPS, NULL, NULL) < 0);
    }
    while (!at_once && lines_of(directory, RUN_METRICS) < wanted &&
           waitpid(pid, &status, WNOHANG) == 0)
        usleep(500);
    usleep((useconds_t)(rand_r(seed) % 9000));
    if (kill(pid, SIGKILL) < 0) /* waited for */
        return true;
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return !WIFSIGNALED(status);
}

/* Killed at any instant, and gone on with, until it is through. */
TEST(killed)
{
    char *killed = in("killed"), *clean = in("clean");
    unsigned seed = 7;
    int deaths = 0, midway = 0;
    assert_int_equal(in_child(clean, STEPS), 0);
    for (int i = 0; i < KILLS; i++) {
        if (run_and_kill(killed, &seed)) {
            assert_same(killed, clean, RUN_METRICS);
            remove_in(killed, "");
            continue;
        }
        deaths++;
        midway += lines_of(killed, RUN_CHECKPOINTS) > 0;
    }
    assert_true(midway > 3);
    assert_true(deaths > KILLS / 4);
    assert_int_equal(in_child(killed, STEPS), 0);
    assert_same(killed, clean, RUN_METRICS);
    assert_same(killed, clean, RUN_TRACES);
    assert_int_equal(count_checkpoints(killed), STEPS / WRITER_CHECKPOINT);
    assert_int_equal(lines_of(killed, RUN_CHECKPOINTS), STEPS / WRITER_CHECKPOINT);
}

/* A disk that is full at some byte: one sentence, and nothing that was there is lost. */
TEST(full_disk)
{
    char *full = in("full"), *clean = in("clean");
    assert_int_equal(in_child(clean, STEPS), 0);
    for (rlim_t capacity = 2000; capacity < 12000; capacity += 701) {
        pid_t pid = fork();
        int status;
        if (pid == 0) {
            struct rlimit limit = {capacity, capacity};
            struct err err = {0};
            signal(SIGXFSZ, SIG_IGN);
            setrlimit(RLIMIT_FSIZE, &limit);
            int result = writer_run(full, &settings, STEPS, NULL, &err);
            bool clear = strstr(err.text, "cannot write") && !strchr(err.text, '\n');
            _exit(result == 0 ? 0 : result == ERR_IO && clear ? 1 : 2);
        }
        waitpid(pid, &status, 0);
        assert_true(WIFEXITED(status));
        assert_in_range(WEXITSTATUS(status), 0, 1);
        if (capacity < 5000)
            assert_int_equal(WEXITSTATUS(status), 1);
    }
    assert_int_equal(in_child(full, STEPS), 0);
    assert_same(full, clean, RUN_METRICS);
    assert_same(full, clean, RUN_TRACES);
}

TEST(lock)
{
    char *directory = in("locked");
    struct run *run;
    struct err err = {0};
    int status;
    assert_int_equal(run_open(&run, directory, &settings, &err), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct run *second;
        struct run_view view;
        bool right = run_open(&second, directory, &settings, &err) == ERR_LIMIT &&
                     strstr(err.text, "a run is in progress there");
        right = right && run_view_open(&view, directory, RUN_SERIES_ALL, &err) == 0 &&
                run_view_read(&view, &err) == 0 && view.state == RUN_STATE_RUNNING &&
                view.holder == getppid();
        _exit(right ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    run_close(run);
    assert_int_equal(in_child(directory, 1), 0);
}

TEST(misuse)
{
    struct run *run;
    struct run_checkpoint checkpoint;
    bool found = true;
    struct err err = {0};
    json_t *text = json_pack("{s:s}", "reward/mean", "high"), *none = json_object();
    char *directory = in("misused");
    assert_int_equal(run_open(&run, directory, &settings, &err), 0);
    assert_int_equal(run_metrics(run, 0, none, &err), ERR_INTERNAL);
    assert_int_equal(run_resume(run, &checkpoint, &found, &err), 0);
    assert_false(found);
    assert_int_equal(run_metrics(run, 0, text, &err), ERR_INTERNAL);
    assert_non_null(strstr(err.text, "reward/mean"));
    assert_int_equal(run_trace(run, none, &err), ERR_INTERNAL);
    assert_non_null(strstr(err.text, "'step'"));
    run_close(run);
    json_decref(text);
    json_decref(none);
}

TEST(tags)
{
    static const char *const wanted[][3] = {
        {"reward/mean", "Reward/Mean", "Reward/Summary"},
        {"level/12/correct_rate", "PerLevel/Level12/CorrectRate", NULL},
        {"level//correct_rate", "level//correct_rate", NULL},
        {"level/a/correct_rate", "level/a/correct_rate", NULL},
        {"eval/level/3/fast_1", "Eval/Level3/Fast1x", "Eval/Level3/QualityOverview"},
        {"time/assemble_data", "Timing/Assemble_Data", "Timing/Breakdown"},
        {"mismatch/mismatch_kl", "mismatch/mismatch_kl", NULL},
    };
    for (size_t i = 0; i < COUNT(wanted); i++) {
        char *tag, *group;
        const struct tensorboard_tag *row = tensorboard_tag_of(wanted[i][0], &tag, &group);
        assert_string_equal(tag, wanted[i][1]);
        assert_true(!row == (strcmp(tag, wanted[i][0]) == 0));
        assert_string_equal(group ? group : "none", wanted[i][2] ? wanted[i][2] : "none");
        mem_free(group);
        mem_free(tag);
    }
}

/* docs/guide/runs.md has every row. */
TEST(tags_are_logged)
{
    char *page = contents("docs/guide", "runs.md");
    for (size_t i = 0; i < tensorboard_tag_count; i++) {
        const struct tensorboard_tag *row = &tensorboard_tags[i];
        char *line = support_text("| `%s` | `%s` | %s%s%s%s |\n", row->metric, row->tag,
                                  row->group ? "`" : "", row->group ? row->group : "",
                                  row->group ? "`: " : "", row->group ? row->member : "");
        if (!strstr(page, line))
            fail_msg("docs/guide/runs.md lacks %s", line);
    }
}

TEST(series)
{
    struct run_series series;
    struct err err = {0};
    uint64_t at = 0;
    char *path = in("m.jsonl");
    run_series_init(&series, path, RUN_SERIES_ALL);
    assert_int_equal(run_series_read(&series, &err), 0);
    assert_int_equal(series.count, 0);
    write_file(root, "m.jsonl", "{\"step\":1,\"a\":1}\n{\"step\":2,\"a\":null,\"b\":5}\n{\"st",
               false);
    assert_int_equal(run_series_read(&series, &err), 0);
    assert_int_equal(series.count, 2);
    write_file(root, "m.jsonl", "ep\":2,\"c\":3,\"t\":\"x\"}\n", true);
    assert_int_equal(run_series_read(&series, &err), 0);
    assert_int_equal(series.count, 2);
    assert_true(run_series_at(&series, "a", 9, &at) == 1 && at == 1);
    assert_true(run_series_at(&series, "c", 9, &at) == 3 && at == 2);
    assert_true(isnan(run_series_at(&series, "b", 1, NULL)));
    assert_null(run_series_find(&series, "t"));
    write_file(root, "m.jsonl", "{\"step\":1,\"a\":7}\n", false); /* it was cut */
    assert_int_equal(run_series_read(&series, &err), 0);
    assert_int_equal(series.count, 1);
    assert_true(run_series_at(&series, "a", 9, NULL) == 7);
    write_file(root, "m.jsonl", "[]\n", true);
    assert_int_equal(run_series_read(&series, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "m.jsonl:2: "));
    run_series_deinit(&series);
    run_series_init(&series, path, 30);
    write_file(root, "m.jsonl",
               "{\"step\":1,\"a\":7}\n{\"step\":2,\"a\":8}\n{\"step\":3,\"a\":9}\n", false);
    assert_int_equal(run_series_read(&series, &err), 0);
    assert_int_equal(series.count, 1);
    assert_int_equal(series.steps[0], 3);
    run_series_deinit(&series);
}

TEST(mean)
{
    static const struct {
        const char *name;
        uint64_t step;
        size_t over, count;
        double value, deviation;
    } rows[] = {
        {"a", 9, 3, 3, 5, 1},            /* of 4, 5, 6 */
        {"a", 4, 2, 2, 4.5, 0.70710678}, /* up to step 4 */
        {"a", 9, 1, 1, 6, NAN},
        {"a", 9, 99, 5, 4, 1.58113883},
        {"seldom", 9, 2, 0, 7, NAN}, /* not logged in these: its last value */
        {"seldom", 1, 9, 1, 7, NAN},
        {"seldom", 0, 9, 0, NAN, NAN},
        {"lost", 9, 9, 0, NAN, NAN},
    };
    struct run_series series;
    char *path = in("means.jsonl");
    write_file(root, "means.jsonl",
               "{\"step\":1,\"a\":2,\"seldom\":7}\n{\"step\":2,\"a\":3}\n"
               "{\"step\":3,\"a\":4}\n{\"step\":4,\"a\":5}\n{\"step\":5,\"a\":6}\n",
               false);
    run_series_init(&series, path, RUN_SERIES_ALL);
    assert_int_equal(run_series_read(&series, NULL), 0);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct run_mean mean = run_series_mean(&series, rows[i].name, rows[i].step, rows[i].over);
        if (mean.count != rows[i].count ||
            (isnan(rows[i].value) ? !isnan(mean.value) : mean.value != rows[i].value) ||
            (isnan(rows[i].deviation) ? !isnan(mean.deviation)
                                      : fabs(mean.deviation - rows[i].deviation) > 1e-7))
            fail_msg("row %zu: %g, %g of %zu", i, mean.value, mean.deviation, mean.count);
    }
    run_series_deinit(&series);
}
