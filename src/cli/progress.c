#include "cli/progress.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cli/table.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REDRAW_NS 100000000 /* on a terminal */
#define LINE_NS 10000000000 /* elsewhere */
#define LINE_BYTES 512
#define BAR_MAX 30
#define BAR_MIN 6
#define CLEAR "\r\033[K"

struct progress {
    pthread_mutex_t mutex;
    struct progress_state state;
    int fd;
    bool terminal, quiet;
    bool drawn; /* the line is on the terminal */
    bool wrote; /* something has been shown */
    int hidden;
    int64_t start_ns, shown_ns;
};

/* "45 s", "3:07 min", "2:05 h" */
static void duration_text(double seconds, char *text, size_t text_bytes)
{
    if (seconds < 0 || seconds > 359999)
        seconds = 359999;
    int whole = (int)(seconds + 0.5);
    if (whole < 60)
        snprintf(text, text_bytes, "%d s", whole);
    else if (whole < 3600)
        snprintf(text, text_bytes, "%d:%02d min", whole / 60, whole % 60);
    else
        snprintf(text, text_bytes, "%d:%02d h", whole / 3600, whole / 60 % 60);
}

enum part { PART_COUNT, PART_RESULT, PART_RATE, PART_LEFT, PARTS };

static void part_text(const struct progress_state *state, enum part part, char *text,
                      size_t text_bytes)
{
    double now = (double)(state->done - state->found);
    double rate = state->elapsed_s > 0 ? now / state->elapsed_s : 0;
    char left[32];
    *text = '\0';
    switch (part) {
    case PART_COUNT:
        if (state->total > 0)
            snprintf(text, text_bytes, "%" PRIu64 "/%" PRIu64, state->done, state->total);
        else
            snprintf(text, text_bytes, "%" PRIu64, state->done);
        break;
    case PART_RESULT:
        if (state->note)
            snprintf(text, text_bytes, ", %s", state->note);
        else if (state->failed > 0)
            snprintf(text, text_bytes, ", %" PRIu64 " passed, %" PRIu64 " failed", state->passed,
                     state->failed);
        else
            snprintf(text, text_bytes, ", %" PRIu64 " passed", state->passed);
        break;
    case PART_RATE:
        if (rate > 0 && !state->note)
            snprintf(text, text_bytes, ", %.*f/s", rate < 10 ? 1 : 0, rate);
        break;
    default:
        if (rate > 0 && state->total > state->done) {
            duration_text((double)(state->total - state->done) / rate, left, sizeof left);
            snprintf(text, text_bytes, ", %s left", left);
        } else if (state->total > 0 && state->done >= state->total) {
            duration_text(state->elapsed_s, left, sizeof left);
            snprintf(text, text_bytes, " in %s", left);
        }
    }
}

/* "[#####.....] " of exactly `width` columns, or "" if that is too few. */
static void bar_text(const struct progress_state *state, int width, char *text, size_t text_bytes)
{
    int cells = width - 3 < BAR_MAX ? width - 3 : BAR_MAX;
    *text = '\0';
    if (cells < BAR_MIN || state->total == 0 || (size_t)cells + 4 > text_bytes)
        return;
    double part = (double)state->done / (double)state->total;
    int full = part >= 1 ? cells : (int)(part * cells);
    text[0] = '[';
    memset(text + 1, '#', (size_t)full);
    memset(text + 1 + full, '.', (size_t)(cells - full));
    memcpy(text + 1 + cells, "] ", 3);
}

void progress_render(const struct progress_state *state, int width, bool bar, char *line,
                     size_t line_bytes)
{
    char parts[PARTS][96], drawn[BAR_MAX + 8];
    int used = (int)strlen(state->label) + 1, shown = 0;
    if (width >= (int)line_bytes)
        width = (int)line_bytes - 1;
    /* Parts that do not fit are left out from the end. */
    for (; shown < PARTS; shown++) {
        part_text(state, shown, parts[shown], sizeof parts[shown]);
        if (used + (int)strlen(parts[shown]) > width)
            break;
        used += (int)strlen(parts[shown]);
    }
    bar_text(state, bar ? width - used : 0, drawn, sizeof drawn);
    int length = snprintf(line, line_bytes, "%s %s", state->label, drawn);
    for (int i = 0; i < shown && length >= 0 && (size_t)length < line_bytes; i++)
        length += snprintf(line + length, line_bytes - (size_t)length, "%s", parts[i]);
    if (width >= 0 && length > width)
        line[width] = '\0';
}

static void progress_write(const struct progress *progress, const char *text)
{
    ssize_t ignored = write(progress->fd, text, strlen(text));
    (void)ignored;
}

static void progress_draw(struct progress *progress)
{
    char line[LINE_BYTES], record[LINE_BYTES + 16];
    progress->shown_ns = clock_now_ns();
    progress->state.elapsed_s = (double)(progress->shown_ns - progress->start_ns) * 1e-9;
    /* The last column stays free: a terminal may wrap there. */
    int width = progress->terminal ? style_width(progress->fd) - 1 : LINE_BYTES - 1;
    progress_render(&progress->state, width, progress->terminal, line, sizeof line);
    snprintf(record, sizeof record, "%s%s%s", progress->terminal ? CLEAR : "", line,
             progress->terminal ? "" : "\n");
    progress_write(progress, record);
    progress->drawn = progress->terminal;
    progress->wrote = true;
}

static void draw_if_due(struct progress *progress)
{
    int64_t interval_ns = progress->terminal ? REDRAW_NS : LINE_NS;
    if (!progress->quiet && progress->hidden == 0 &&
        clock_now_ns() - progress->shown_ns >= interval_ns)
        progress_draw(progress);
}

struct progress *progress_new(int fd, const char *label, uint64_t total, bool quiet)
{
    struct progress *progress = mem_alloc(sizeof *progress);
    const char *terminal = getenv("TERM");
    pthread_mutex_init(&progress->mutex, NULL);
    progress->fd = fd;
    progress->quiet = quiet;
    progress->terminal = isatty(fd) && terminal && strcmp(terminal, "dumb") != 0;
    progress->state = (struct progress_state){.label = mem_strdup(label), .total = total};
    progress->start_ns = progress->shown_ns = clock_now_ns();
    return progress;
}

void progress_free(struct progress *progress)
{
    if (!progress)
        return;
    /* A batch that ended before anything was shown needs no summary. */
    if (progress->wrote) {
        progress_draw(progress);
        if (progress->terminal)
            progress_write(progress, "\n");
    }
    pthread_mutex_destroy(&progress->mutex);
    mem_free((char *)progress->state.label);
    mem_free((char *)progress->state.note);
    mem_free(progress);
}

static void progress_count(struct progress *progress, bool passed, bool found)
{
    pthread_mutex_lock(&progress->mutex);
    progress->state.done++;
    progress->state.found += found;
    progress->state.passed += passed;
    progress->state.failed += !passed;
    draw_if_due(progress);
    pthread_mutex_unlock(&progress->mutex);
}

void progress_add(struct progress *progress, bool passed)
{
    progress_count(progress, passed, false);
}

void progress_found(struct progress *progress, bool passed)
{
    progress_count(progress, passed, true);
}

void progress_note(struct progress *progress, const char *text)
{
    pthread_mutex_lock(&progress->mutex);
    mem_free((char *)progress->state.note);
    progress->state.note = mem_strdup(text);
    pthread_mutex_unlock(&progress->mutex);
}

void progress_tick(struct progress *progress)
{
    pthread_mutex_lock(&progress->mutex);
    draw_if_due(progress);
    pthread_mutex_unlock(&progress->mutex);
}

void progress_hide(void *context)
{
    struct progress *progress = context;
    pthread_mutex_lock(&progress->mutex);
    if (progress->hidden++ == 0 && progress->drawn) {
        progress_write(progress, CLEAR);
        progress->drawn = false;
    }
    pthread_mutex_unlock(&progress->mutex);
}

void progress_show(void *context)
{
    struct progress *progress = context;
    pthread_mutex_lock(&progress->mutex);
    /* Redraws a hidden line at once, or each log line would make it flicker. */
    if (--progress->hidden == 0 && progress->wrote && progress->terminal)
        progress_draw(progress);
    pthread_mutex_unlock(&progress->mutex);
}
