/* report_plot: draws SVG. The style sheet (report/page/page.css) sets colours and widths by class;
 * every text is escaped. Ownership: the caller's storage. Threads: one at a time for each buffer.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct plot_axis {
    double low, high;
    bool logarithmic;
};

struct plot {
    struct buf *out;
    double width, height;            /* of the drawing */
    double left, right, top, bottom; /* of the plot area in it */
    struct plot_axis x, y;
};

struct plot_point {
    double x, y;
};

enum plot_unit { PLOT_NUMBER, PLOT_PERCENT, PLOT_TIMES };

/* Untrusted text as HTML: the five characters escaped; invalid UTF-8, control characters and
 * direction marks become U+FFFD. */
void html_text(struct buf *out, const char *text);
/* As buf_printf, with each %s so escaped; knows %s, %d, %zu, %f, %g with flags and precision. */
void html_printf(struct buf *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* An item of a header's list; nothing for an empty text. */
void html_chip(struct buf *out, const char *label, const char *text);

/* A short formatted text for one call: plot_dot(…, plot_words("s%zu", i).text, …). */
struct plot_words {
    char text[256];
};
struct plot_words plot_words(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Opens an svg element with title and description; the plot area leaves room for ticks. `name` is
 * its id. */
void plot_open(struct plot *plot, struct buf *out, double width, double height, const char *name,
               const char *title, const char *description);
void plot_close(struct plot *plot);

/* Coordinates in the drawing, clamped to the plot area. */
double plot_x(const struct plot *plot, double value);
double plot_y(const struct plot *plot, double value);

/* Up to `most` + 1 multiples of 1, 2 or 5 times a power of ten, and of `least`, on the axis (not
 * logarithmic); returns how many. */
size_t plot_round_numbers(const struct plot_axis *axis, double least, size_t most, double *values);
/* Grid lines with numbers; values outside of the axis are left out. */
void plot_ticks_x(struct plot *plot, const double *values, size_t count, enum plot_unit unit);
void plot_ticks_y(struct plot *plot, const double *values, size_t count, enum plot_unit unit);
void plot_label_x(struct plot *plot, const char *text);

/* Points that are NaN interrupt a line. */
void plot_line(struct plot *plot, const char *class, const struct plot_point *points, size_t count);
/* Between low[i].y and high[i].y. */
void plot_ribbon(struct plot *plot, const char *class, const struct plot_point *low,
                 const struct plot_point *high, size_t count);
/* The browser shows `tip` (text) on hover. */
void plot_dot(struct plot *plot, const char *class, double x, double y, const char *tip);
/* From corner to corner, in the drawing's own units. */
void plot_rect(struct plot *plot, const char *class, double x0, double y0, double x1, double y1,
               const char *tip);
void plot_rule(struct plot *plot, const char *class, double x0, double y0, double x1, double y1);
void plot_text(struct plot *plot, const char *class, double x, double y, const char *text);
