#include "cli/runs/screen.h"

#include "base/mem.h"
#include "base/printable.h"
#include "cli/runs/runs.h"
#include "cli/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LINE_BYTES ((size_t)4096)
#define LABEL 10  /* columns of a measure's name */
#define NUMBER 10 /* columns of a figure */
#define CURVE_LEAST 6
#define BAR_MOST 56

static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const plain_blocks[] = {"_", ".", "-", "~", "=", "+", "*", "#"};
#define LEVELS 8

static double mean_of(const double *values, size_t from, size_t to)
{
    double sum = 0, count = 0;
    for (size_t i = from; i < to; i++)
        if (isfinite(values[i])) {
            sum += values[i];
            count++;
        }
    return count > 0 ? sum / count : NAN;
}

/* A curve of `columns` characters, each the mean of its share of the values, scaled between the
 * least and the greatest; blank for NaN. */
static void screen_curve(const double *values, size_t count, size_t columns, bool utf8,
                         struct buf *out)
{
    double least = INFINITY, most = -INFINITY;
    size_t shown = count < columns ? count : columns;
    double *means = mem_alloc((shown + 1) * sizeof *means);
    for (size_t i = 0; i < shown; i++) {
        means[i] = mean_of(values, i * count / shown, (i + 1) * count / shown);
        least = fmin(least, means[i]);
        most = fmax(most, means[i]);
    }
    for (size_t i = 0; i < shown; i++) {
        double part = most > least ? (means[i] - least) / (most - least) : 0.5;
        size_t level = isfinite(part) ? (size_t)fmin(part * LEVELS, LEVELS - 1) : 0;
        buf_puts(out, isnan(means[i]) ? " " : utf8 ? blocks[level] : plain_blocks[level]);
    }
    mem_free(means);
}

struct drawing {
    const struct run_view *view;
    const struct runs_screen *screen;
    struct buf *out;
    int lines;
};

/* Cuts to the width, after making untrusted text safe. */
static void put_line(struct drawing *drawing, enum style style, const char *text)
{
    char *line = mem_strdup(text);
    size_t width = printable_text(line, false), most = (size_t)drawing->screen->width;
    if (drawing->lines == drawing->screen->height) {
        mem_free(line);
        return;
    }
    char *at = line;
    for (size_t seen = 0; width > most && *at; at++)
        if (((unsigned char)*at & 0xC0) != 0x80 && seen++ == most) {
            *at = '\0';
            break;
        }
    style_puts(drawing->out, drawing->screen->colour, style, line);
    buf_puts(drawing->out, "\n");
    drawing->lines++;
    mem_free(line);
}

static void put_head(struct drawing *drawing)
{
    const struct run_view *view = drawing->view;
    char left[LINE_BYTES], age[32], process[32] = "", right[64];
    runs_age_text(view, age, sizeof age);
    if (view->holder > 0)
        snprintf(process, sizeof process, " (process %d)", (int)view->holder);
    /* The state must be visible; of a long path its last part. */
    snprintf(left, sizeof left, "%s  %s%s", view->path, run_state_names[view->state], process);
    if (strlen(left) > (size_t)drawing->screen->width)
        snprintf(left, sizeof left, "%s  %s%s", view->name, run_state_names[view->state], process);
    snprintf(right, sizeof right, "last wrote %s ago", age);
    int gap = drawing->screen->width - (int)strlen(left) - (int)strlen(right);
    char *line = gap > 1 ? mem_printf("%s%*s%s", left, gap, "", right) : mem_strdup(left);
    put_line(drawing, STYLE_STRONG, line);
    mem_free(line);
}

/* " 2:10 min left", estimated from the last step. */
static void left_text(const struct run_view *view, char *text, size_t text_bytes)
{
    double step_s = run_series_at(&view->series, "time/total", UINT64_MAX, NULL);
    *text = '\0';
    if (view->state != RUN_STATE_RUNNING || !(step_s > 0) || view->steps <= view->step)
        return;
    double left_s = step_s * (double)(view->steps - view->step);
    if (left_s < 60)
        snprintf(text, text_bytes, ", %.0f s left", left_s);
    else if (left_s < 7200)
        snprintf(text, text_bytes, ", %.0f min left", left_s / 60);
    else
        snprintf(text, text_bytes, ", %.0f h left", left_s / 3600);
}

static void put_progress(struct drawing *drawing)
{
    const struct run_view *view = drawing->view;
    char step[64], left[64], bar[BAR_MOST + 8] = "";
    runs_step_text(view, step, sizeof step);
    left_text(view, left, sizeof left);
    int columns = drawing->screen->width - (int)strlen(step) - (int)strlen(left) - 4;
    columns = columns < BAR_MOST ? columns : BAR_MOST;
    if (view->steps > 0 && columns > CURVE_LEAST) {
        double part = fmin((double)view->step / (double)view->steps, 1);
        int full = (int)(part * columns);
        bar[0] = '[';
        memset(bar + 1, '#', (size_t)full);
        memset(bar + 1 + full, '.', (size_t)(columns - full));
        memcpy(bar + 1 + columns, "]  ", 4);
    }
    char *line = mem_printf("%s%s%s", bar, step, left);
    put_line(drawing, STYLE_NONE, line);
    mem_free(line);
}

static void put_phase(struct drawing *drawing)
{
    const struct run_view *view = drawing->view;
    char *line;
    if (view->state != RUN_STATE_RUNNING)
        line = mem_strdup(view->state == RUN_STATE_FINISHED
                              ? "all steps are done"
                              : "no process trains it; starting it again resumes it");
    else if (view->all > 0)
        line = mem_printf("%s %" PRIu64 " of %" PRIu64, view->phase, view->done, view->all);
    else
        line = mem_strdup(view->phase);
    put_line(drawing, STYLE_NONE, line);
    mem_free(line);
}

static void put_measure(struct drawing *drawing, const char *label, const struct run_column *column)
{
    const struct run_series *series = &drawing->view->series;
    char last[RUNS_NUMBER_BYTES], least[RUNS_NUMBER_BYTES], most[RUNS_NUMBER_BYTES];
    double low = NAN, high = NAN;
    double *finite = mem_alloc((series->count + 1) * sizeof *finite);
    size_t count = 0;
    struct buf line;
    for (size_t i = 0; i < series->count; i++)
        if (!isnan(column->values[i])) { /* a measure without a value at each step has no gaps */
            low = fmin(low, column->values[i]);
            high = fmax(high, column->values[i]);
            finite[count++] = column->values[i];
        }
    runs_number(run_series_at(series, column->name, UINT64_MAX, NULL), last);
    runs_number(low, least);
    runs_number(high, most);
    buf_init(&line, LINE_BYTES);
    buf_printf(&line, "%-*s%*s%*s%*s  ", LABEL, label, NUMBER, last, NUMBER, least, NUMBER, most);
    int columns = drawing->screen->width - LABEL - 3 * NUMBER - 2;
    if (columns >= CURVE_LEAST)
        screen_curve(finite, count, (size_t)columns, drawing->screen->utf8, &line);
    put_line(drawing, STYLE_NONE, line.data);
    buf_deinit(&line);
    mem_free(finite);
}

void runs_screen_draw(const struct run_view *view, const char *checkpoint,
                      const struct runs_screen *screen, struct buf *out)
{
    struct drawing drawing = {.view = view, .screen = screen, .out = out};
    char *text = mem_printf("%-*s%*s%*s%*s", LABEL, "measure", NUMBER, "last", NUMBER, "least",
                            NUMBER, "most");
    put_head(&drawing);
    put_progress(&drawing);
    put_phase(&drawing);
    put_line(&drawing, STYLE_NONE, "");
    put_line(&drawing, STYLE_FAINT, text);
    mem_free(text);
    for (size_t i = 0; i < runs_measure_count; i++) {
        const char *name = runs_measure_name(&runs_measures[i], &view->series);
        if (name)
            put_measure(&drawing, runs_measures[i].label, run_series_find(&view->series, name));
    }
    put_line(&drawing, STYLE_NONE, "");
    text = mem_printf("last checkpoint: %s", checkpoint[0] ? checkpoint : "none yet");
    put_line(&drawing, STYLE_NONE, text);
    mem_free(text);
    put_line(&drawing, STYLE_FAINT, "q ends the view, not the run");
}

void runs_screen_line(const struct run_view *view, size_t row, struct buf *out)
{
    const struct run_series *series = &view->series;
    buf_printf(out, "step %" PRIu64, series->steps[row]);
    for (size_t i = 0; i < runs_measure_count; i++) {
        const char *name = runs_measure_name(&runs_measures[i], series);
        double value = name ? run_series_find(series, name)->values[row] : NAN;
        char number[RUNS_NUMBER_BYTES];
        runs_number(value, number);
        if (!isnan(value))
            buf_printf(out, "  %s %s", runs_measures[i].label, number);
    }
    buf_puts(out, "\n");
}
