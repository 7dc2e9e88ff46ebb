#include "cli/eval/report.h"

#include "../support/test.h"
#include "judge/verdict.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void fill(struct verdict *verdict, bool traced)
{
    verdict_init(verdict);
    verdict->status = STATUS_PASSED;
    verdict->problem_id = "softmax";
    verdict->candidate_path = "softmax.cu";
    verdict_output(verdict, "n = \x1b[2J3", 9, 8, 10);
    if (!traced)
        return;
    verdict->kernel_count = 1;
    verdict->kernels[0] = (struct kernel_share){
        .name = "fused", .launches = 1, .time_us = 8, .own = true, .source = "", .limit = ""};
    verdict->launched = (struct launch_totals){.calls = 1,
                                               .kernels = 1,
                                               .own_kernels = 1,
                                               .launches = 1,
                                               .own_launches = 1,
                                               .time_us = 8,
                                               .own_time_us = 8,
                                               .busy_us = 8};
}

/* What a run of that many candidates prints. */
static void print(int candidates, bool traced, char *text, size_t bytes)
{
    struct eval_report report;
    int out = memfd_create("out", MFD_CLOEXEC);
    fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    assert_true(out >= 0 && kept >= 0 && dup2(out, STDOUT_FILENO) >= 0);
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
    ssize_t count = pread(out, text, bytes - 1, 0);
    close(out);
    assert_true(count > 0);
    text[count] = '\0';
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
            assert_non_null(strstr(profile, "  fused\n"));
    }
}

/* Below the profile; of a server's text, too, nothing reaches the terminal that controls it. */
TEST(output)
{
    char text[8192];
    print(1, true, text, sizeof text);
    const char *output = strstr(text, "\n\nIt printed:\nn = ?[2J\n… and 2 more bytes (");
    assert_true(output && output > strstr(text, "  fused\n"));
    print(1, false, text, sizeof text);
    assert_non_null(strstr(text, "\n\nIt printed:\nn = ?[2J\n"));
    print(2, true, text, sizeof text);
    assert_null(strstr(text, "printed"));
}
