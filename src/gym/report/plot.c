#include "gym/report/plot.h"

#include "base/array.h"
#include "base/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *html_entity(char letter)
{
    static const char *const entities[] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};
    return (unsigned char)letter < COUNT(entities) ? entities[(unsigned char)letter] : NULL;
}

/* U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069: they reorder what is read. */
static bool turns_direction(const char *at, size_t length)
{
    const unsigned char *byte = (const unsigned char *)at;
    if (length != 3 || byte[0] != 0xE2)
        return false;
    if (byte[1] == 0x80)
        return byte[2] == 0x8E || byte[2] == 0x8F || (byte[2] >= 0xAA && byte[2] <= 0xAE);
    return byte[1] == 0x81 && byte[2] >= 0xA6 && byte[2] <= 0xA9;
}

static bool is_control(const char *at, size_t length)
{
    unsigned char first = (unsigned char)at[0];
    if (length == 2 && first == 0xC2)
        return (unsigned char)at[1] < 0xA0;
    return length == 1 && (first < 0x20 || first == 0x7F) && first != '\n' && first != '\t';
}

void html_text(struct buf *out, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t length = utf8_sequence(text, left);
        const char *instead = length == 1 ? html_entity(*text) : NULL;
        if (length == 0 || is_control(text, length) || turns_direction(text, length))
            instead = UTF8_REPLACEMENT;
        length = length > 0 ? length : 1;
        if (instead)
            buf_puts(out, instead);
        else
            buf_append(out, text, length);
        text += length;
        left -= length;
    }
}

/* One conversion, the first `length` bytes of `format`. */
static void put_conversion(struct buf *out, const char *format, size_t length, va_list *args)
{
    char one[16];
    snprintf(one, sizeof one, "%.*s", (int)length, format);
    switch (format[length - 1]) {
    case 's':
        html_text(out, va_arg(*args, const char *));
        break;
    case 'd':
        buf_printf(out, one, va_arg(*args, int));
        break;
    case 'u': /* %zu */
        buf_printf(out, one, va_arg(*args, size_t));
        break;
    case 'f':
    case 'g':
        buf_printf(out, one, va_arg(*args, double));
        break;
    default:
        buf_puts(out, "%");
    }
}

void html_printf(struct buf *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    while (*format) {
        size_t plain = strcspn(format, "%");
        buf_append(out, format, plain);
        format += plain;
        if (*format) {
            size_t length = strcspn(format + 1, "sdufg%") + 2;
            put_conversion(out, format, length, &args);
            format += length;
        }
    }
    va_end(args);
}

void html_chip(struct buf *out, const char *label, const char *text)
{
    if (*text)
        html_printf(out, "<li><span>%s</span> %s</li>", label, text);
}

struct plot_words plot_words(const char *format, ...)
{
    struct plot_words words;
    va_list args;
    va_start(args, format);
    vsnprintf(words.text, sizeof words.text, format, args);
    va_end(args);
    return words;
}

#define MARGIN_LEFT 46
#define MARGIN_RIGHT 14
#define MARGIN_TOP 10
#define MARGIN_BOTTOM 40

void plot_open(struct plot *plot, struct buf *out, double width, double height, const char *name,
               const char *title, const char *description)
{
    plot->out = out;
    plot->width = width;
    plot->height = height;
    plot->left = MARGIN_LEFT;
    plot->right = width - MARGIN_RIGHT;
    plot->top = MARGIN_TOP;
    plot->bottom = height - MARGIN_BOTTOM;
    html_printf(out,
                "<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-labelledby=\"%s-title %s-text\">"
                "<title id=\"%s-title\">%s</title><desc id=\"%s-text\">%s</desc>",
                width, height, name, name, name, title, name, description);
}

void plot_close(struct plot *plot)
{
    buf_puts(plot->out, "</svg>\n");
}

/* 0 at the axis' low end, 1 at its high one. */
static double axis_fraction(const struct plot_axis *axis, double value)
{
    double low = axis->low, high = axis->high;
    if (axis->logarithmic) {
        value = log(fmax(value, low * 1e-6));
        low = log(low);
        high = log(high);
    }
    return high > low ? fmin(fmax((value - low) / (high - low), 0), 1) : 0.5;
}

double plot_x(const struct plot *plot, double value)
{
    return plot->left + axis_fraction(&plot->x, value) * (plot->right - plot->left);
}

double plot_y(const struct plot *plot, double value)
{
    return plot->bottom - axis_fraction(&plot->y, value) * (plot->bottom - plot->top);
}

static struct plot_words tick_words(double value, enum plot_unit unit)
{
    return unit == PLOT_PERCENT ? plot_words("%g %%", 100 * value)
           : unit == PLOT_TIMES ? plot_words("%g×", value)
                                : plot_words("%g", value);
}

static bool is_on_axis(const struct plot_axis *axis, double value)
{
    return value >= axis->low - 1e-9 * fabs(axis->low) &&
           value <= axis->high + 1e-9 * fabs(axis->high);
}

void plot_rule(struct plot *plot, const char *class, double x0, double y0, double x1, double y1)
{
    buf_printf(plot->out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>",
               class, x0, y0, x1, y1);
}

void plot_text(struct plot *plot, const char *class, double x, double y, const char *text)
{
    html_printf(plot->out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>", class, x, y, text);
}

size_t plot_round_numbers(const struct plot_axis *axis, double least, size_t most, double *values)
{
    static const double factors[] = {1, 2, 5, 10};
    double span = axis->high - axis->low, power, step = 0;
    size_t count = 0;
    if (!(span > 0)) {
        values[0] = axis->low;
        return 1;
    }
    power = pow(10, floor(log10(span / (double)most)));
    for (size_t i = 0; i < COUNT(factors) && span / (double)most > step; i++)
        step = fmax(factors[i] * power, least);
    double first = ceil(axis->low / step);
    while (count <= most && (first + (double)count) * step <= axis->high) {
        values[count] = (first + (double)count) * step + 0.0; /* no "-0" */
        count++;
    }
    return count;
}

void plot_ticks_x(struct plot *plot, const double *values, size_t count, enum plot_unit unit)
{
    for (size_t i = 0; i < count; i++) {
        double x = plot_x(plot, values[i]);
        if (!is_on_axis(&plot->x, values[i]))
            continue;
        plot_rule(plot, "grid", x, plot->top, x, plot->bottom);
        plot_text(plot, "tick middle", x, plot->bottom + 16, tick_words(values[i], unit).text);
    }
}

void plot_ticks_y(struct plot *plot, const double *values, size_t count, enum plot_unit unit)
{
    for (size_t i = 0; i < count; i++) {
        double y = plot_y(plot, values[i]);
        if (!is_on_axis(&plot->y, values[i]))
            continue;
        plot_rule(plot, "grid", plot->left, y, plot->right, y);
        plot_text(plot, "tick end", plot->left - 8, y + 4, tick_words(values[i], unit).text);
    }
}

void plot_label_x(struct plot *plot, const char *text)
{
    plot_text(plot, "axis middle", (plot->left + plot->right) / 2, plot->height - 5, text);
}

void plot_line(struct plot *plot, const char *class, const struct plot_point *points, size_t count)
{
    bool drawing = false;
    buf_printf(plot->out, "<path class=\"%s\" d=\"", class);
    for (size_t i = 0; i < count; i++) {
        bool there = !isnan(points[i].y);
        if (there)
            buf_printf(plot->out, "%c%.1f %.1f", drawing ? 'L' : 'M', plot_x(plot, points[i].x),
                       plot_y(plot, points[i].y));
        drawing = there;
    }
    buf_puts(plot->out, "\"/>");
}

static void ribbon_part(struct plot *plot, const struct plot_point *low,
                        const struct plot_point *high, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_printf(plot->out, "%c%.1f %.1f", i > 0 ? 'L' : 'M', plot_x(plot, high[i].x),
                   plot_y(plot, high[i].y));
    for (size_t i = count; i-- > 0;)
        buf_printf(plot->out, "L%.1f %.1f", plot_x(plot, low[i].x), plot_y(plot, low[i].y));
    buf_puts(plot->out, "Z");
}

void plot_ribbon(struct plot *plot, const char *class, const struct plot_point *low,
                 const struct plot_point *high, size_t count)
{
    buf_printf(plot->out, "<path class=\"%s\" d=\"", class);
    for (size_t i = 0, end; i < count; i = end + 1) {
        for (end = i; end < count && !isnan(low[end].y) && !isnan(high[end].y);)
            end++;
        if (end > i)
            ribbon_part(plot, low + i, high + i, end - i);
    }
    buf_puts(plot->out, "\"/>");
}

void plot_dot(struct plot *plot, const char *class, double x, double y, const char *tip)
{
    if (!isnan(y))
        html_printf(plot->out,
                    "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" data-tip=\"%s\"/>",
                    class, plot_x(plot, x), plot_y(plot, y), tip);
}

void plot_rect(struct plot *plot, const char *class, double x0, double y0, double x1, double y1,
               const char *tip)
{
    html_printf(plot->out,
                "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                "data-tip=\"%s\"/>",
                class, fmin(x0, x1), fmin(y0, y1), fabs(x1 - x0), fabs(y1 - y0), tip);
}
