#include "rl/run/page.h"

#include "base/array.h"
#include "base/json.h"
#include "base/mem.h"
#include "gym/report/page.h"
#include "gym/report/plot.h"
#include "gym/report/report.h"
#include "rl/run/answers.h"
#include "rl/run/curves.h"
#include "rl/run/settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct page {
    const struct run_view *view;
    struct report *report; /* NULL: no held-out problems were played */
    json_t *settings, *checkpoints, *answers;
};

/* ---------------------------------------------------------------------------------- evaluations */

/* Paths and names of the first and the last, and the problems of each; how many there are. */
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
        size_t samples = (size_t)settings.train_evaluate_samples;
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

/* --------------------------------------------------------------------------------------- header */

/* "" where it is the standard. */
static void put_setting(const struct page *page, struct buf *out, const char *label,
                        const char *name)
{
    char *plain = run_settings_plain(json_text_at(page->settings, name));
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

static void put_head(void *context, struct buf *out)
{
    const struct page *page = context;
    const struct run_view *view = page->view;
    const json_t *last = json_array_get(page->checkpoints, json_array_size(page->checkpoints) - 1);
    buf_puts(out, "<div class=\"training\"><h2>");
    html_text(out, view->name);
    buf_puts(out, "</h2><ul class=\"chips\">");
    html_chip(out, "run", run_state_names[view->state]);
    html_chip(out, "steps",
              view->steps > 0 ? plot_words("%" PRIu64 " of %" PRIu64, view->step, view->steps).text
                              : plot_words("%" PRIu64, view->step).text);
    put_setting(page, out, "model", "train.model");
    put_setting(page, out, "learner", "train.learner");
    put_setting(page, out, "method", "train.method");
    put_setting(page, out, "reward", "gym.reward");
    put_setting(page, out, "seed", "train.seed");
    html_chip(out, "last checkpoint", json_text_at(last, "name"));
    put_times(page, out);
    buf_puts(out, "</ul></div>");
}

/* ---------------------------------------------------------------------------------------- parts */

static void put_before(void *context, struct buf *out)
{
    const struct page *page = context;
    put_held_out(page, out);
    buf_puts(out, "<section class=\"charts\" id=\"curves\" aria-label=\"Learning curves\">\n");
    run_curves(&page->view->series, out);
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
        buf_puts(out, "<tr><th scope=\"row\"><code>");
        html_text(out, name);
        buf_puts(out, "</code></th><td><code>");
        html_text(out, json_string_value(value));
        buf_puts(out, "</code></td></tr>\n");
    }
    buf_puts(out, "</tbody></table></div></section>\n");
}

static void put_after(void *context, struct buf *out)
{
    const struct page *page = context;
    if (json_array_size(page->answers) > 0) {
        buf_puts(out, "<section class=\"card\" id=\"answers\"><h2>Answers in training</h2>"
                      "<p class=\"more\">One of each problem, of the first step and of the last "
                      "one; traces.jsonl has all.</p><div class=\"answers\">");
        run_answers_put(page->answers, out);
        buf_puts(out, "</div></section>\n");
    }
    put_settings(page, out);
}

int run_page(const struct run_view *view, struct buf *out, struct err *err)
{
    struct page page = {.view = view};
    const struct report_frame frame = {.title = view->name,
                                       .put_head = put_head,
                                       .put_before = put_before,
                                       .put_after = put_after,
                                       .context = &page};
    int result = run_view_settings(view, &page.settings, err);
    if (result == 0)
        result = run_view_checkpoints(view, &page.checkpoints, err);
    if (result == 0)
        result = run_answers_read(view->path, &page.answers, err);
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
