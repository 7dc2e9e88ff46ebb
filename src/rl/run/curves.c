#include "rl/run/curves.h"

#include "base/array.h"
#include "base/mem.h"
#include "gym/report/chart.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define LINES 5
#define POINTS 400 /* of a line; more are drawn as means of their neighbours */
#define DOTS 60    /* a line of no more has them */
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
    {"Reward",
     "Mean of a step's answers, and of held-out problems the mean return of first turns.",
     PLOT_NUMBER,
     {{"reward/mean", "reward"}, {"eval/return", "held out"}}},
    {"Answers of a step",
     "Shares of those that were judged.",
     PLOT_PERCENT,
     {{"kernel/correct_rate", "correct"},
      {"kernel/compile_rate", "compiled"},
      {"kernel/format_rate", "in form"},
      {"kernel/cheat_rate", "violations"}}},
    {"Held-out problems",
     "Shares of all samples that are correct, of all problems with one so many times as fast as "
     "the reference, and of turns that compile.",
     PLOT_PERCENT,
     {{"eval/correct_rate", "correct"},
      {"eval/fast_1", "fast_1"},
      {"eval/fast_2", "fast_2"},
      {"eval/compile_rate", "compiled"}}},
    {"Speedup",
     "Mean of correct answers, and of held-out problems the geometric mean of their best.",
     PLOT_TIMES,
     {{"kernel/mean_speedup", "answers of a step"}, {"eval/geometric_mean_speedup", "held out"}}},
    {"Loss of fine-tuning",
     "Mean over target tokens.",
     PLOT_NUMBER,
     {{"sft/loss", "loss"}, {"loss", "loss"}, {"evaluation_loss", "held out"}}},
    {"Loss", "The objective that the step made smaller.", PLOT_NUMBER, {{"optim/loss", "loss"}}},
    {"Norm of the gradient",
     "Before it is clipped.",
     PLOT_NUMBER,
     {{"optim/grad_norm", "norm"}, {"norm", "norm"}}},
    {"Entropy",
     "Mean of −log π of the tokens that were sampled.",
     PLOT_NUMBER,
     {{"policy/entropy", "entropy"}}},
    {"Mismatch",
     "Divergence of the trainer's probabilities from the sampler's, of the new weights' from the "
     "old ones', and from those that the run began with.",
     PLOT_NUMBER,
     {{"mismatch/mismatch_kl", "KL"},
      {"mismatch/mismatch_k3_kl", "KL (k3)"},
      {"optim/kl", "of the step"},
      {"policy/kl_base", "from the beginning"}}},
    {"Lag",
     "How many changes of the weights old the policy was that wrote an answer.",
     PLOT_NUMBER,
     {{"lag/mean", "mean"}, {"lag/max", "most"}}},
    {"Length of answers",
     "In tokens.",
     PLOT_NUMBER,
     {{"batch/answer_tokens_mean", "mean"}, {"batch/answer_tokens_max", "longest"}}},
    {"Learning rate", "", PLOT_NUMBER, {{"optim/lr", "rate"}, {"rate", "rate"}}},
    {"Seconds",
     "Of each part of a step.",
     PLOT_NUMBER,
     {{"time/total", "step"},
      {"time/rollout", "rollout"},
      {"time/train", "training"},
      {"time/evaluate", "evaluation"},
      {"time/save_checkpoint", "checkpoint"}}},
    {"Tokens a second", "", PLOT_NUMBER, {{"tokens_per_s", "tokens"}}},
};

/* One line of a chart: what was told, in order. */
struct trace {
    const char *metric, *label;
    const struct run_column *column;
    struct plot_point *points;
    size_t count;
    size_t each; /* steps that a point is the mean of */
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

/* False: the run told nothing of it. */
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

/* -------------------------------------------------------------------------------------- drawing */

/* Of all points, with some air; from 0 where that is near. */
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

static void draw(const struct run_series *series, const struct curve *curve,
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
    for (size_t i = count; i-- > 0;) /* the first lies on top */
        draw_trace(&plot, &traces[i], i);
    plot_close(&plot);
}

static bool is_told(const struct trace *traces, size_t count, size_t row)
{
    for (size_t i = 0; i < count; i++)
        if (isfinite(traces[i].column->values[row]))
            return true;
    return false;
}

/* As in metrics.jsonl; of very many steps the last ones. */
static void put_numbers(const struct run_series *series, const struct trace *traces, size_t count,
                        struct buf *out)
{
    size_t first = series->count > ROWS ? series->count - ROWS : 0;
    chart_numbers_open(out);
    chart_head(out, first > 0 ? "step (the last ones; metrics.jsonl has all)" : "step");
    for (size_t i = 0; i < count; i++)
        chart_head(out, traces[i].metric);
    buf_puts(out, "</tr></thead><tbody>");
    for (size_t row = first; row < series->count; row++) {
        if (!is_told(traces, count, row))
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
    draw(series, curve, traces, count, out);
    put_numbers(series, traces, count, out);
    chart_close(out);
    mem_free(note);
}

void run_curves(const struct run_series *series, struct buf *out)
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
