#include "cli/eval/report.h"

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/printable.h"
#include "cli/cli.h"
#include "device/lock.h"
#include "judge/profile_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_BYTES ((size_t)1 << 20)
#define FILE_BYTES ((size_t)4 << 30)
#define WAIT_SAID_S 2
#define REMARK_COLUMNS 90 /* on a narrow terminal, too */

/* A killed run may have left a partial line, which is not a verdict: cuts it off before
 * appending. */
static int cut_partial_line(struct eval_report *report, struct err *err)
{
    off_t size = lseek(report->out_fd, 0, SEEK_END);
    off_t end = size;
    char byte;
    while (end > 0 && pread(report->out_fd, &byte, 1, end - 1) == 1 && byte != '\n')
        end--;
    if (end != size && ftruncate(report->out_fd, end) < 0)
        return err_sys(err, errno, "%s: cannot remove its broken last line", report->out_path);
    return 0;
}

int eval_report_init(struct eval_report *report, bool json, bool timed, const char *out_path,
                     struct err *err)
{
    *report =
        (struct eval_report){.json = json, .timed = timed, .out_fd = -1, .out_path = out_path};
    buf_init(&report->details, PROFILE_TEXT_BYTES + VERDICT_TEXT_BYTES);
    if (!json)
        report->table = table_new("problem|candidate|verdict|>speedup|>candidate|>reference|");
    if (!out_path)
        return 0;
    struct stat facts;
    report->resumable = stat(out_path, &facts) < 0 || S_ISREG(facts.st_mode);
    int access = report->resumable ? O_RDWR | O_CREAT : O_WRONLY;
    report->out_fd = open(out_path, access | O_APPEND | O_CLOEXEC, 0644);
    if (report->out_fd < 0)
        return err_sys(err, errno, "%s: cannot open for writing", out_path);
    return report->resumable ? cut_partial_line(report, err) : 0;
}

void eval_report_deinit(struct eval_report *report)
{
    table_free(report->table);
    buf_deinit(&report->details);
    if (report->out_fd >= 0)
        close(report->out_fd);
}

static void add_time(struct table *table, double ms)
{
    if (!isfinite(ms))
        table_cell(table, STYLE_FAINT, "-");
    else if (ms < 0.1)
        table_cell(table, STYLE_NONE, "%.2f us", ms * 1e3);
    else
        table_cell(table, STYLE_NONE, "%.3f ms", ms);
}

/* The most important fact for a person; `text` is where it may be composed. */
static const char *remark_of(const struct verdict *verdict, char *text, size_t bytes)
{
    const struct finding *warning = verdict->warning_count > 0 ? &verdict->warnings[0] : NULL;
    if (verdict->error_class)
        return verdict->error_message ? verdict->error_message : "";
    if (verdict->audit.outcome == AUDIT_GAMEABLE && verdict->audit.count > 0) {
        const struct verdict_attempt *attempt = &verdict->audit.attempts[0];
        snprintf(text, bytes, "the problem can be gamed: %s (%s)", attempt->name, attempt->code);
        return text;
    }
    if (!verdict->timing_meaningful && verdict->timing_note && *verdict->timing_note)
        return verdict->timing_note;
    return warning && strcmp(warning->code, "H41") != 0 ? warning->evidence : "";
}

/* Of several sizes the geometric mean: their ratio is the speedup. */
static void add_times(struct table *table, const struct verdict *verdict)
{
    double candidate = 0;
    double reference = 0;
    for (uint32_t i = 0; i < verdict->case_count; i++) {
        candidate += log(verdict->cases[i].candidate.median) / verdict->case_count;
        reference += log(verdict->cases[i].reference.median) / verdict->case_count;
    }
    add_time(table, exp(candidate));
    add_time(table, exp(reference));
}

static void add_speedup(struct table *table, const struct verdict *verdict)
{
    struct interval speedup;
    verdict_speedup(verdict, &speedup);
    double off = isfinite(speedup.low) && isfinite(speedup.high) ? (speedup.high - speedup.low) / 2
                                                                 : INFINITY;
    table_cell(table, speedup.value >= 1 ? STYLE_GOOD : STYLE_WARN, "%.2fx ±%.2f", speedup.value,
               off);
    add_times(table, verdict);
}

/* A batch's own folder says nothing in a path that leads out of it. */
static const char *behind_last_parent(const char *path)
{
    for (const char *up; (up = strstr(path, "/../"));)
        path = up + strlen("/../");
    return path;
}

static void add_row(struct eval_report *report, const struct verdict *verdict)
{
    struct table *table = report->table;
    bool passed = verdict->status == STATUS_PASSED;
    const char *name = behind_last_parent(verdict->candidate_path);
    size_t length = strlen(name);
    char remark[512];
    table_cell(table, STYLE_NONE, "%s", verdict->problem_id);
    table_cell(table, STYLE_NONE, "%s%s", length > 44 ? "…" : "",
               length > 44 ? name + length - 43 : name);
    table_cell(table, passed ? STYLE_GOOD : STYLE_BAD, "%s", verdict_status_name(verdict->status));
    if (passed && verdict->case_count > 0 && verdict->timing_meaningful)
        add_speedup(table, verdict);
    else
        for (int i = 0; i < 3; i++)
            table_cell(table, STYLE_FAINT, "-");
    table_cell(table, STYLE_FAINT, "%s", remark_of(verdict, remark, sizeof remark));
}

static void write_out(struct eval_report *report, const struct buf *line)
{
    struct err err;
    if (report->out_fd < 0 || report->write_failed)
        return;
    if (file_write_fd(report->out_fd, report->out_path, line->data, line->len, &err) < 0) {
        report->write_failed = true;
        log_write(LOG_LEVEL_ERROR, "eval", "%s; later verdicts are not kept in it", err.text);
    }
}

/* SIZE_MAX: it is no terminal. */
static size_t terminal_columns(void)
{
    int columns = style_width(STDOUT_FILENO);
    return columns > 0 ? (size_t)columns : SIZE_MAX;
}

static void put_output(struct buf *out, const struct verdict *verdict)
{
    if (!verdict->output || !verdict->output[0]) /* a server may send an empty one */
        return;
    bool ended = verdict->output[strlen(verdict->output) - 1] == '\n';
    buf_printf(out, "%sIt printed:\n%s%s", out->len > 0 ? "\n" : "", verdict->output,
               ended ? "" : "\n");
    if (verdict->output_cut_bytes > 0)
        buf_printf(out, "… and %" PRIu64 " more bytes (check.output_bytes)\n",
                   verdict->output_cut_bytes);
}

/* A server's text is untrusted. */
static void keep_details(struct eval_report *report, const struct verdict *verdict)
{
    struct buf *details = &report->details;
    size_t wide = terminal_columns();
    buf_reset(details);
    if (report->passed + report->failed > 1)
        return;
    profile_text(verdict, wide > PROFILE_COLUMNS ? wide : PROFILE_COLUMNS, details);
    put_output(details, verdict);
    printable_text(details->data, true);
    details->len = strlen(details->data);
}

static void write_line(struct eval_report *report, const struct verdict *verdict)
{
    struct buf line;
    struct err err;
    json_t *object = verdict_json(verdict);
    buf_init(&line, LINE_BYTES);
    if (json_line_write(object, &line, &err) == 0) {
        write_out(report, &line);
        if (report->json) {
            progress_hide(report->progress);
            cli_print(&line);
            progress_show(report->progress);
        }
    } else {
        report->write_failed = true;
        log_write(LOG_LEVEL_ERROR, "eval", "a verdict is not kept: %s", err.text);
    }
    buf_deinit(&line);
    json_decref(object);
}

void eval_report_verdict(void *context, const struct batch_task *task, const struct verdict *judged)
{
    struct eval_report *report = context;
    struct verdict named = *judged; /* with the id of the batch; its texts stay the judge's */
    const struct verdict *verdict = &named;
    if (task && task->id)
        named.id = task->id;
    bool passed = verdict->status == STATUS_PASSED;
    report->passed += passed;
    report->failed += !passed;
    report->broken += verdict->status == STATUS_INFRASTRUCTURE_ERROR;
    write_line(report, verdict);
    if (report->table)
        add_row(report, verdict);
    keep_details(report, verdict);
    progress_add(report->progress, passed);
}

/* After WAIT_SAID_S, and each time that the wait is twice as long. */
static void say_wait(struct eval_report *report)
{
    struct device_wait wait;
    bool waits = !report->quiet && device_lock_wait_now(&wait);
    if (!waits || wait.seconds < report->said_s) /* no wait, or another one */
        report->said_s = 0;
    if (!waits || wait.seconds < fmax(WAIT_SAID_S, 2 * report->said_s))
        return;
    report->said_s = wait.seconds;
    progress_hide(report->progress);
    fprintf(stderr, "warpgym: waiting for the device: pid %d, %.0f s\n", (int)wait.pid,
            wait.seconds);
    progress_show(report->progress);
}

void eval_report_tick(void *context)
{
    struct eval_report *report = context;
    say_wait(report);
    progress_tick(report->progress);
}

void eval_report_finish(struct eval_report *report, double elapsed_s)
{
    struct buf out;
    progress_free(report->progress);
    report->progress = NULL;
    if (!report->table || report->passed + report->failed == 0)
        return;
    buf_init(&out, FILE_BYTES);
    if (report->passed + report->failed > 1) /* the reason for one may take several lines */
        table_fit(report->table, terminal_columns(), REMARK_COLUMNS);
    table_render(report->table, style_wanted(STDOUT_FILENO), &out);
    uint64_t total = report->passed + report->failed;
    buf_printf(&out, "\n%llu of %llu passed, in %.1f s\n", (unsigned long long)report->passed,
               (unsigned long long)total, elapsed_s);
    if (report->details.len > 0)
        buf_printf(&out, "\n%s", report->details.data);
    cli_print(&out);
    buf_deinit(&out);
}
