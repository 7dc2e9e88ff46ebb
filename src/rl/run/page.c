#include "rl/run/page.h"

#include "base/array.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/lines.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "gym/episode/trajectory.h"
#include "gym/report/chart.h"
#include "gym/report/metrics.h"
#include "gym/report/page.h"
#include "gym/report/plot.h"
#include "gym/report/report.h"
#include "rl/run/run.h"
#include "rl/run/run_settings.h"
#include "rl/train/train_settings.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANSWERS_MOST 6                /* of a step */
#define TAIL_BYTES ((size_t)16 << 20) /* the end of the file, which has the last step */

static json_int_t integer_at(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static bool has_trace_of(const json_t *chosen, const char *problem)
{
    const json_t *trace;
    size_t i;
    json_array_foreach((json_t *)chosen, i, trace)
    {
        if (strcmp(json_text_at(trace, "problem"), problem) == 0)
            return true;
    }
    return false;
}

/* Keeps a trace of the step in `chosen`; a later step replaces it if `last`. False: no later line
 * is needed. */
static bool choose_trace(json_t *chosen, json_t *trace, bool last)
{
    const json_t *before = json_array_get(chosen, 0);
    if (before && integer_at(trace, "step") != integer_at(before, "step")) {
        if (!last)
            return false;
        json_array_clear(chosen);
    }
    if (integer_at(trace, "turn") == 0 && json_array_size(chosen) < ANSWERS_MOST &&
        !has_trace_of(chosen, json_text_at(trace, "problem")))
        json_array_append(chosen, trace);
    return true;
}

static int read_traces(int fd, const char *path, bool last, json_t *chosen, struct err *err)
{
    struct lines *lines = lines_open_fd(fd, path, LIMIT_JOURNAL_LINE_BYTES);
    const char *text;
    size_t count;
    bool more = true;
    int result = 0;
    while (more && (result = lines_next(lines, &text, &count, err)) > 0 && lines_is_whole(lines)) {
        json_t *trace = NULL;
        result = json_parse(path, text, count, &trace, err);
        if (result < 0)
            break;
        more = choose_trace(chosen, trace, last);
        json_decref(trace);
    }
    lines_close(lines);
    return result < 0 ? result : 0;
}

static int read_end_of_traces(const char *path, bool last, json_t *chosen, struct err *err)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : err_sys(err, errno, "%s: cannot read", path);
    if (last && (fstat(fd, &status) < 0 ||
                 lseek(fd, run_tail(fd, status.st_size, TAIL_BYTES), SEEK_SET) < 0)) {
        close(fd);
        return err_sys(err, errno, "%s: cannot read", path);
    }
    return read_traces(fd, path, last, chosen, err);
}

static int read_answers(const char *directory, json_t **out, struct err *err)
{
    char *path = mem_printf("%s/" RUN_TRACES, directory);
    json_t *first = json_array(), *last = json_array();
    int result = read_end_of_traces(path, false, first, err);
    if (result == 0)
        result = read_end_of_traces(path, true, last, err);
    if (result == 0 &&
        integer_at(json_array_get(first, 0), "step") != integer_at(json_array_get(last, 0), "step"))
        json_array_extend(first, last);
    json_decref(last);
    mem_free(path);
    if (result < 0)
        json_decref(first);
    else
        *out = first;
    return result;
}

static void put_answer_text(struct buf *out, const char *title, const char *text)
{
    size_t length = strlen(text), shown = utf8_cut(text, length, LIMIT_REPORT_TEXT_BYTES);
    if (length == 0)
        return;
    char *part = mem_printf("%.*s", (int)shown, text);
    buf_printf(out, "<details class=\"text\"><summary>%s</summary><pre class=\"wrap\">", title);
    html_text(out, part);
    buf_puts(out, shown < length ? "\n…</pre></details>" : "</pre></details>");
    mem_free(part);
}

static void put_answer_head(const json_t *trace, struct buf *out)
{
    const json_t *reward = json_object_get(trace, "reward");
    const char *status = gym_status_name(gym_status_of(json_text_at(trace, "status")));
    double speedup = json_number_value(json_object_get(trace, "speedup"));
    buf_printf(out, "<h4>step %" JSON_INTEGER_FORMAT ", ", integer_at(trace, "step"));
    html_text(out, json_text_at(trace, "problem"));
    buf_printf(out,
               " <span>sample %" JSON_INTEGER_FORMAT ", weights %" JSON_INTEGER_FORMAT
               "</span></h4><p><span class=\"chip st-%s\"><i></i>",
               integer_at(trace, "sample"), integer_at(trace, "policy_version"), status);
    for (const char *at = status; *at; at++)
        buf_printf(out, "%c", *at == '_' ? ' ' : *at);
    buf_puts(out, "</span> ");
    if (speedup > 0)
        buf_printf(out, "<b>%.2f×</b> ", speedup);
    if (json_is_number(reward))
        buf_printf(out, "<small>reward %.4g, advantage %.4g</small>", json_number_value(reward),
                   json_number_value(json_object_get(trace, "advantage")));
    else
        buf_puts(out, "<small>says nothing of the candidate</small>");
    buf_puts(out, "</p>");
}

static void put_answers(const json_t *traces, struct buf *out)
{
    const json_t *trace;
    size_t i;
    json_array_foreach((json_t *)traces, i, trace)
    {
        const json_t *messages = json_object_get(trace, "prompt");
        const json_t *last = json_array_get(messages, json_array_size(messages) - 1);
        struct verdict verdict;
        bool said = trajectory_verdict(trace, &verdict) && verdict.error_message;
        buf_puts(out, "<div class=\"episode\">");
        put_answer_head(trace, out);
        put_answer_text(out, "Prompt", json_text_at(last, "content"));
        put_answer_text(out, "Answer", json_text_at(trace, "answer"));
        put_answer_text(out, "What the judge said", said ? verdict.error_message : "");
        verdict_deinit(&verdict);
        buf_puts(out, "</div>\n");
    }
}

#define LINES 5
#define POINTS 400 /* of a line; more are averaged with their neighbours */
#define DOTS 60    /* a line of at most so many points has them */
#define ROWS 500   /* of a table of numbers */
#define TICKS 6

/* Titles and notes are HTML. */
static const struct curve {
    const char *title, *note;
    enum plot_unit unit;
    struct {
        const char *metric, *label;
    } lines[LINES];
} curves[] = {
    {"Reward", "Mean of a step's answers, and of held-out problems the mean return of first turns.",
     PLOT_NUMBER, .lines = {{"reward/mean", "reward"}, {"eval/return", "held out"}}},
    {"Answers of a step", "Shares of those that were judged.", PLOT_PERCENT,
     .lines = {{"kernel/correct_rate", "correct"},
               {"kernel/compile_rate", "compiled"},
               {"kernel/format_rate", "in form"},
               {"kernel/cheat_rate", "violations"}}},
    {"Held-out problems",
     "Shares of all samples that are correct, of all problems with one so many times as fast as "
     "the reference, and of turns that compile.",
     PLOT_PERCENT,
     .lines = {{"eval/correct_rate", "correct"},
               {"eval/fast_1", "fast_1"},
               {"eval/fast_2", "fast_2"},
               {"eval/compile_rate", "compiled"}}},
    {"Speedup",
     "Mean of correct answers, and of held-out problems the geometric mean of their best.",
     PLOT_TIMES,
     .lines = {{"kernel/mean_speedup", "answers of a step"},
               {"eval/geometric_mean_speedup", "held out"}}},
    {"Loss of fine-tuning", "Mean over target tokens.", PLOT_NUMBER,
     .lines = {{"sft/loss", "loss"}, {"loss", "loss"}, {"evaluation_loss", "held out"}}},
    {"Loss", "The objective that the step made smaller.", PLOT_NUMBER, {{"optim/loss", "loss"}}},
    {"Norm of the gradient", "Before it is clipped.", PLOT_NUMBER,
     .lines = {{"optim/grad_norm", "norm"}, {"norm", "norm"}}},
    {"Entropy", "Mean of −log π of the tokens that were sampled.", PLOT_NUMBER,
     .lines = {{"policy/entropy", "entropy"}}},
    {"Mismatch",
     "Divergence of the trainer's probabilities from the sampler's, of the new weights' from the "
     "old ones', and from those that the run began with.",
     PLOT_NUMBER,
     .lines = {{"mismatch/mismatch_kl", "KL"},
               {"mismatch/mismatch_k3_kl", "KL (k3)"},
               {"optim/kl", "of the step"},
               {"policy/kl_base", "from the beginning"}}},
    {"Lag", "How many changes of the weights old the policy was that wrote an answer.", PLOT_NUMBER,
     .lines = {{"lag/mean", "mean"}, {"lag/max", "most"}}},
    {"Length of answers", "In tokens.", PLOT_NUMBER,
     .lines = {{"batch/answer_tokens_mean", "mean"}, {"batch/answer_tokens_max", "longest"}}},
    {"Learning rate", "", PLOT_NUMBER, {{"optim/lr", "rate"}, {"rate", "rate"}}},
    {"Seconds", "Of each part of a step.", PLOT_NUMBER,
     .lines = {{"time/total", "step"},
               {"time/rollout", "rollout"},
               {"time/train", "training"},
               {"time/evaluate", "evaluation"},
               {"time/save_checkpoint", "checkpoint"}}},
    {"Tokens a second", "", PLOT_NUMBER, {{"tokens_per_s", "tokens"}}},
};

/* One line of a chart: its values, in order. */
struct trace {
    const char *metric, *label;
    const struct run_column *column;
    struct plot_point *points;
    size_t count;
    size_t each; /* steps that a point averages */
};

static void shorten(struct trace *trace)
{
    size_t shown = 0;
    trace->each = (trace->count + POINTS - 1) / POINTS;
    for (size_t i = 0; trace->each > 1 && i < trace->count; i += trace->each) {
        size_t end = i + trace->each < trace->count ? i + trace->each : trace->count;
        double sum = 0;
        for (size_t k = i; k < end; k++)
            sum += trace->points[k].y;
        trace->points[shown++] = (struct plot_point){trace->points[end - 1].x,
                                                     sum / (double)(end - i)};
    }
    trace->count = trace->each > 1 ? shown : trace->count;
}

/* False: the run has no values of it. */
static bool read_trace(const struct run_series *series, const char *metric, const char *label,
                       struct trace *trace)
{
    const struct run_column *column = metric ? run_series_find(series, metric) : NULL;
    if (!column)
        return false;
    *trace = (struct trace){.metric = metric, .label = label, .column = column};
    trace->points = mem_alloc((series->count + 1) * sizeof *trace->points);
    for (size_t i = 0; i < series->count; i++)
        if (isfinite(column->values[i]))
            trace->points[trace->count++] = (struct plot_point){(double)series->steps[i],
                                                                column->values[i]};
    if (trace->count > 0)
        shorten(trace);
    else
        mem_free(trace->points);
    return trace->count > 0;
}

/* An axis over all points with a margin; it starts at 0 if that is near. */
static struct plot_axis axis_of(const struct trace *traces, size_t count)
{
    struct plot_axis axis = {INFINITY, -INFINITY, false};
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < traces[i].count; k++) {
            axis.low = fmin(axis.low, traces[i].points[k].y);
            axis.high = fmax(axis.high, traces[i].points[k].y);
        }
    double air = axis.high > axis.low ? 0.05 * (axis.high - axis.low)
                 : axis.high == 0     ? 1
                                      : 0.1 * fabs(axis.high);
    bool from_zero = axis.low >= 0 && axis.low <= axis.high / 2;
    axis.low = from_zero ? 0 : axis.low - air;
    axis.high += air;
    return axis;
}

static void draw_trace(struct plot *plot, const struct trace *trace, size_t number)
{
    plot_line(plot, plot_words("line s%zu", number).text, trace->points, trace->count);
    for (size_t i = 0; trace->count <= DOTS && i < trace->count; i++) {
        const struct plot_point *point = &trace->points[i];
        plot_dot(plot, plot_words("dot s%zu", number).text, point->x, point->y,
                 plot_words("%s, step %.0f: %.6g", trace->label, point->x, point->y).text);
    }
}

static void draw_chart(const struct run_series *series, const struct curve *curve,
                       const struct trace *traces, size_t count, struct buf *out)
{
    double ticks[TICKS + 1];
    bool share = curve->unit == PLOT_PERCENT;
    struct plot plot = {.x = {(double)series->steps[0], (double)series->steps[series->count - 1],
                              false},
                        .y = share ? chart_whole : axis_of(traces, count)};
    plot_open(&plot, out, CHART_WIDTH, CHART_HEIGHT,
              plot_words("curve-%zu", (size_t)(curve - curves)).text, curve->title,
              "Lines over the steps of the run.");
    size_t tick_count = plot_round_numbers(&plot.x, 1, TICKS, ticks);
    plot_ticks_x(&plot, ticks, tick_count, PLOT_NUMBER);
    if (share) {
        plot_ticks_y(&plot, chart_shares, CHART_SHARES, PLOT_PERCENT);
    } else {
        tick_count = plot_round_numbers(&plot.y, 0, TICKS, ticks);
        plot_ticks_y(&plot, ticks, tick_count, curve->unit);
    }
    plot_label_x(&plot, "step");
    for (size_t i = count; i-- > 0;) /* the first line is on top */
        draw_trace(&plot, &traces[i], i);
    plot_close(&plot);
}

static bool has_values(const struct trace *traces, size_t count, size_t row)
{
    for (size_t i = 0; i < count; i++)
        if (isfinite(traces[i].column->values[row]))
            return true;
    return false;
}

/* The values of metrics.jsonl; of very many steps the last ones. */
static void put_curve_numbers(const struct run_series *series, const struct trace *traces,
                              size_t count, struct buf *out)
{
    size_t first = series->count > ROWS ? series->count - ROWS : 0;
    chart_numbers_open(out);
    chart_head(out, first > 0 ? "step (the last ones; metrics.jsonl has all)" : "step");
    for (size_t i = 0; i < count; i++)
        chart_head(out, traces[i].metric);
    buf_puts(out, "</tr></thead><tbody>");
    for (size_t row = first; row < series->count; row++) {
        if (!has_values(traces, count, row))
            continue;
        buf_printf(out, "<tr><th scope=\"row\">%" PRIu64 "</th>", series->steps[row]);
        for (size_t i = 0; i < count; i++) {
            double value = traces[i].column->values[row];
            buf_puts(out, isfinite(value) ? plot_words("<td>%.6g</td>", value).text : "<td>–</td>");
        }
        buf_puts(out, "</tr>");
    }
    chart_numbers_close(out);
}

static void put_chart(const struct run_series *series, const struct curve *curve,
                      const struct trace *traces, size_t count, struct buf *out)
{
    size_t each = 1;
    for (size_t i = 0; i < count; i++)
        each = traces[i].each > each ? traces[i].each : each;
    char *note = each > 1
                     ? mem_printf("%s Points are means of up to %zu values.", curve->note, each)
                     : mem_strdup(curve->note);
    chart_open(out, curve->title, note, false);
    buf_puts(out, "<ul class=\"legend\">");
    for (size_t i = 0; i < count; i++)
        chart_legend_item(out, plot_words("s%zu", i).text, traces[i].label);
    buf_puts(out, "</ul>");
    draw_chart(series, curve, traces, count, out);
    put_curve_numbers(series, traces, count, out);
    chart_close(out);
    mem_free(note);
}

static void put_curves(const struct run_series *series, struct buf *out)
{
    for (size_t c = 0; c < COUNT(curves); c++) {
        struct trace traces[LINES];
        size_t count = 0;
        for (size_t i = 0; i < LINES; i++)
            count += read_trace(series, curves[c].lines[i].metric, curves[c].lines[i].label,
                                &traces[count]);
        if (count > 0)
            put_chart(series, &curves[c], traces, count, out);
        for (size_t i = 0; i < count; i++)
            mem_free(traces[i].points);
    }
}

struct page {
    const struct run_view *view;
    struct report *report; /* NULL: no held-out evaluation */
    json_t *settings, *checkpoints, *answers;
};

/* Paths and names of the first and the last evaluation, and the number of their problems; returns
 * how many there are. */
static size_t find_evaluations(const struct run_view *view, char *paths[2], char *names[2],
                               size_t *problems)
{
    size_t first = 0, last = view->series.count;
    paths[0] = paths[1] = names[0] = names[1] = NULL;
    while (first < last && !(paths[0] = run_view_evaluation(view, first)))
        first++;
    while (last-- > first + 1 && !(paths[1] = run_view_evaluation(view, last)))
        ;
    *problems = paths[0] ? run_view_problems(view, first) : 0;
    if (paths[0])
        names[0] = mem_printf("step %" PRIu64, view->series.steps[first]);
    if (paths[1])
        names[1] = mem_printf("step %" PRIu64, view->series.steps[last]);
    return (paths[0] != NULL) + (paths[1] != NULL);
}

static int open_report(struct page *page, struct err *err)
{
    char *paths[2], *names[2];
    size_t problems, count = find_evaluations(page->view, paths, names, &problems);
    struct settings settings;
    if (count == 0)
        return 0;
    int result = run_settings_read(page->view->path, &settings, err);
    if (result == 0) {
        size_t samples = (size_t)train_settings(&settings)->evaluate_samples;
        const struct report_options options = {.p = {1, 1.5, 2},
                                               .p_count = 3,
                                               .k = {1, samples},
                                               .k_count = samples > 1 ? 2 : 1,
                                               .by = REPORT_BY_CATEGORY,
                                               .problem_total = problems,
                                               .samples = samples,
                                               .names = (const char *const *)names};
        result = report_open(&page->report, (const char *const *)paths, count, &options, err);
        if (result == 0 && page->report->runs[0].group_count < 2)
            page->report->options.by = REPORT_BY_NONE;
    }
    settings_deinit(&settings);
    for (size_t i = 0; i < 2; i++) {
        mem_free(paths[i]);
        mem_free(names[i]);
    }
    return result;
}

static void put_held_out(const struct page *page, struct buf *out)
{
    const struct report *report = page->report;
    if (!report)
        return;
    const size_t places[] = {
        report_find(report, GYM_FAST_SAMPLES, 0, 0),   report_find(report, GYM_FAST_SAMPLES, 1, 0),
        report_find(report, GYM_FAST_PROBLEMS, 0, 0),  report_find(report, GYM_FAST_PROBLEMS, 1, 0),
        report_find(report, GYM_SPEEDUP_SOLVED, 0, 0), report_find(report, GYM_SPEEDUP_ALL, 0, 0),
    };
    buf_puts(out, "<section class=\"card\" id=\"held-out\"><h2>Held-out problems");
    buf_puts(out, report->run_count > 1 ? ", before and after</h2>" : "</h2>");
    page_runs(report, out);
    buf_puts(out, "<div class=\"scroll\">");
    page_some_figures(report, places, COUNT(places), out);
    buf_puts(out, "</div></section>\n");
}

/* A setting's chip; empty for a default value. */
static void put_setting(const struct page *page, struct buf *out, const char *label,
                        const char *name)
{
    char *plain = run_settings_unquote(json_text_at(page->settings, name));
    html_chip(out, label, plain);
    mem_free(plain);
}

static double sum_of(const struct run_series *series, const char *name)
{
    const struct run_column *column = run_series_find(series, name);
    double sum = 0;
    for (size_t i = 0; column && i < series->count; i++)
        sum += isfinite(column->values[i]) ? column->values[i] : 0;
    return sum;
}

/* "1840 s: rollout 61 %, training 20 %, …" */
static void put_times(const struct page *page, struct buf *out)
{
    static const struct {
        const char *metric, *label;
    } parts[] = {{"time/rollout", "rollout"},
                 {"time/train", "training"},
                 {"time/evaluate", "evaluation"},
                 {"time/save_checkpoint", "checkpoints"}};
    const struct run_series *series = &page->view->series;
    double all = sum_of(series, "time/total") + sum_of(series, "time/evaluate") +
                 sum_of(series, "time/save_checkpoint");
    if (!(all > 0))
        return;
    buf_printf(out, "<li><span>took</span> %.0f s: ", all);
    for (size_t i = 0; i < COUNT(parts); i++)
        buf_printf(out, "%s%s %.0f %%", i > 0 ? ", " : "", parts[i].label,
                   100 * sum_of(series, parts[i].metric) / all);
    buf_puts(out, "</li>");
}

static void put_page_head(void *context, struct buf *out)
{
    const struct page *page = context;
    const struct run_view *view = page->view;
    const json_t *last = json_array_get(page->checkpoints, json_array_size(page->checkpoints) - 1);
    html_printf(out, "<div class=\"training\"><h2>%s</h2><ul class=\"chips\">", view->name);
    html_chip(out, "run", run_state_names[view->state]);
    html_chip(out, "steps",
              view->steps > 0 ? plot_words("%" PRIu64 " of %" PRIu64, view->step, view->steps).text
                              : plot_words("%" PRIu64, view->step).text);
    put_setting(page, out, "model", "train.model");
    put_setting(page, out, "backend", "train.backend");
    put_setting(page, out, "method", "train.method");
    put_setting(page, out, "reward", "gym.reward");
    put_setting(page, out, "seed", "train.seed");
    html_chip(out, "last checkpoint", json_text_at(last, "name"));
    put_times(page, out);
    buf_puts(out, "</ul></div>");
}

static void put_page_before(void *context, struct buf *out)
{
    const struct page *page = context;
    put_held_out(page, out);
    buf_puts(out, "<section class=\"charts\" id=\"curves\" aria-label=\"Learning curves\">\n");
    put_curves(&page->view->series, out);
    buf_puts(out, "</section>\n");
}

static void put_settings(const struct page *page, struct buf *out)
{
    const char *name;
    const json_t *value;
    buf_puts(out, "<section class=\"card\" id=\"settings\"><h2>Settings</h2>");
    if (page->view->kind == RUN_RL)
        buf_puts(out,
                 "<p class=\"more\">Those that are not the standard; config.yaml has all.</p>");
    buf_puts(out, "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Setting</th>"
                  "<th scope=\"col\">Value</th></tr></thead><tbody>");
    json_object_foreach((json_t *)page->settings, name, value)
    {
        html_printf(out,
                    "<tr><th scope=\"row\"><code>%s</code></th><td><code>%s</code></td></tr>\n",
                    name, json_string_value(value));
    }
    buf_puts(out, "</tbody></table></div></section>\n");
}

static void put_page_after(void *context, struct buf *out)
{
    const struct page *page = context;
    if (json_array_size(page->answers) > 0) {
        buf_puts(out, "<section class=\"card\" id=\"answers\"><h2>Answers in training</h2>"
                      "<p class=\"more\">One of each problem, of the first step and of the last "
                      "one; traces.jsonl has all.</p><div class=\"answers\">");
        put_answers(page->answers, out);
        buf_puts(out, "</div></section>\n");
    }
    put_settings(page, out);
}

int run_page(const struct run_view *view, struct buf *out, struct err *err)
{
    struct page page = {.view = view};
    const struct report_frame frame = {.title = view->name,
                                       .put_head = put_page_head,
                                       .put_before = put_page_before,
                                       .put_after = put_page_after,
                                       .context = &page};
    int result = run_view_settings(view, &page.settings, err);
    if (result == 0)
        result = run_view_checkpoints(view, &page.checkpoints, err);
    if (result == 0)
        result = read_answers(view->path, &page.answers, err);
    if (result == 0)
        result = open_report(&page, err);
    if (result == 0)
        result = report_html(page.report, &frame, out, err);
    report_close(page.report);
    json_decref(page.answers);
    json_decref(page.checkpoints);
    json_decref(page.settings);
    return result;
}
