#include "cli/eval/report.h"

#include "../support/test.h"
#include "judge/verdict.h"

#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Longer than what a narrow terminal leaves for them. */
static char reason[200 + 1], kernel[120 + 1];

static const char nothing[] = "\n"; /* a byte before the text, which none may look at */
static bool silent;                 /* a server's verdict says that an empty text was printed */

static void fill(struct verdict *verdict, bool traced)
{
    verdict_init(verdict);
    verdict->status = STATUS_PASSED;
    verdict->problem_id = "softmax";
    verdict->candidate_path = "softmax.cu";
    memset(reason, 'r', sizeof reason - 1);
    memset(kernel, 'k', sizeof kernel - 1);
    verdict_warning(verdict, "H44", "%s", reason);
    verdict_output(verdict, "n = \x1b[2J3", 9, 8, 10);
    if (silent)
        verdict->output = nothing + 1;
    if (!traced)
        return;
    verdict->kernel_count = 1;
    verdict->kernels[0] = (struct kernel_share){
        .name = kernel, .launches = 1, .time_us = 8, .own = true, .source = "", .limit = ""};
    verdict->launched = (struct launch_totals){.calls = 1,
                                               .kernels = 1,
                                               .own_kernels = 1,
                                               .launches = 1,
                                               .own_launches = 1,
                                               .time_us = 8,
                                               .own_time_us = 8,
                                               .busy_us = 8};
}

/* A terminal's two ends; without columns a file. */
static void open_out(int columns, int ends[2])
{
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    ends[0] = ends[1] = memfd_create("out", MFD_CLOEXEC);
    if (columns > 0)
        assert_int_equal(openpty(&ends[0], &ends[1], NULL, NULL, &size), 0);
    assert_true(ends[0] >= 0);
}

/* What a run of that many candidates prints. */
static void print_to(int columns, int candidates, bool traced, char *text, size_t bytes)
{
    struct eval_report report;
    int out[2];
    open_out(columns, out);
    fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    assert_true(kept >= 0 && dup2(out[1], STDOUT_FILENO) >= 0);
    int result = eval_report_init(&report, false, true, NULL, NULL);
    report.progress = progress_new(STDERR_FILENO, "judging", (uint64_t)candidates, true);
    for (int i = 0; i < candidates; i++) {
        struct verdict verdict;
        fill(&verdict, traced);
        eval_report_verdict(&report, NULL, &verdict);
        verdict_deinit(&verdict);
    }
    eval_report_finish(&report, 1);
    eval_report_deinit(&report);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    assert_int_equal(result, 0);
    ssize_t count = columns > 0 ? read(out[0], text, bytes - 1) : pread(out[0], text, bytes - 1, 0);
    close(out[0]);
    if (columns > 0)
        close(out[1]);
    assert_true(count > 0);
    text[count] = '\0';
}

static void print(int candidates, bool traced, char *text, size_t bytes)
{
    print_to(0, candidates, traced, text, bytes);
}

static const struct {
    int candidates;
    bool traced, listed;
} rows[] = {{1, true, true}, {1, false, false}, {2, true, false}};

/* One candidate's launches stand below the table; several have theirs in --json. */
TEST(profile)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[8192];
        char passed[32];
        print(rows[i].candidates, rows[i].traced, text, sizeof text);
        snprintf(passed, sizeof passed, "%d of %d passed", rows[i].candidates, rows[i].candidates);
        const char *table_end = strstr(text, passed);
        assert_non_null(table_end);
        const char *profile = strstr(table_end, "your own kernels: 100.0 %");
        if ((profile != NULL) != rows[i].listed)
            fail_msg("row %zu: %s", i, text);
        if (profile)
            assert_non_null(strstr(profile, kernel));
    }
}

/* Below the profile; of a server's text, too, nothing reaches the terminal that controls it. */
TEST(output)
{
    char text[8192];
    print(1, true, text, sizeof text);
    const char *output = strstr(text, "\n\nIt printed:\nn = ?[2J\n… and 2 more bytes (");
    assert_true(output && output > strstr(text, kernel));
    print(1, false, text, sizeof text);
    assert_non_null(strstr(text, "\n\nIt printed:\nn = ?[2J\n"));
    print(2, true, text, sizeof text);
    assert_null(strstr(text, "printed"));
}

TEST(empty_output)
{
    char text[8192];
    silent = true;
    print(1, false, text, sizeof text);
    silent = false;
    assert_null(strstr(text, "printed"));
}

/* Reason and profile stand there in full where they fit, and the reason for a single candidate
 * always. */
TEST(widths)
{
    static const struct {
        int columns, candidates;
        bool reason, kernel;
    } fits[] = {
        {0, 1, true, true},    {0, 2, true, false},  {80, 1, true, false},
        {80, 2, false, false}, {400, 1, true, true}, {400, 2, true, false},
    };
    setenv("TERM", "dumb", 1);
    for (size_t i = 0; i < COUNT(fits); i++) {
        char text[8192];
        print_to(fits[i].columns, fits[i].candidates, true, text, sizeof text);
        if (!strstr(text, reason) != !fits[i].reason || !strstr(text, kernel) != !fits[i].kernel)
            fail_msg("row %zu: %s", i, text);
        if (!fits[i].reason)
            assert_non_null(strstr(text, "rrr…\r\n"));
    }
}
