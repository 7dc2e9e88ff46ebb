/* report_html: report/page.html with its slots filled. The page's own style and script are the only
 * ones that its policy admits, by their hashes; nothing is loaded from anywhere. */
#include "gym/report_page.h"

#include "base/hash.h"
#include "base/limits.h"
#include "gym/report_plot.h"

#include <stdint.h>
#include <string.h>

/* --------------------------------------------------------------------------------------- hashes */

static unsigned nibble(char digit)
{
    return digit <= '9' ? (unsigned)(digit - '0') : (unsigned)(digit - 'a' + 10);
}

/* 'sha256-…' of Content Security Policy, level 3: base64 of the digest. */
static void put_source_hash(struct buf *out, const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char hex[HASH_HEX_BYTES];
    hash_bytes(text, strlen(text), hex);
    buf_puts(out, "'sha256-");
    for (size_t i = 0; i < 64; i += 6) { /* six hexadecimal digits are four of base64 */
        uint32_t bits = 0;
        size_t given = 64 - i < 6 ? 64 - i : 6;
        for (size_t j = 0; j < 6; j++)
            bits = bits << 4 | (j < given ? nibble(hex[i + j]) : 0);
        for (size_t j = 0; j < 4; j++)
            buf_append(out, j <= given * 4 / 6 ? &digits[bits >> (18 - 6 * j) & 63] : "=", 1);
    }
    buf_puts(out, "'");
}

/* --------------------------------------------------------------------------------------- header */

static void put_title(const struct report *report, struct buf *out)
{
    for (size_t i = 0; i < report->run_count; i++) {
        buf_puts(out, i > 0 ? " · " : "");
        html_text(out, report->runs[i].name);
    }
}

static void put_chip(struct buf *out, const char *label, const char *text)
{
    if (!*text)
        return;
    buf_printf(out, "<li><span>%s</span> ", label);
    html_text(out, text);
    buf_puts(out, "</li>");
}

static void put_remark(struct buf *out, size_t count, const char *text)
{
    if (count > 0)
        buf_printf(out, "<li class=\"warn\"><b>%zu</b> %s</li>", count, text);
}

static void put_run(const struct report *report, size_t r, struct buf *out)
{
    const struct report_run *run = &report->runs[r];
    const struct report_set *all = &run->all;
    buf_puts(out, "<div class=\"run\"><h2>");
    if (report->run_count > 1)
        buf_printf(out, "<i class=\"key s%zu\"></i>", r);
    html_text(out, run->name);
    buf_puts(out, "</h2><ul class=\"chips\">");
    put_chip(out, "episodes", plot_words("%zu", run->episode_count).text);
    put_chip(out, "problems", plot_words("%zu", all->problem_count).text);
    put_chip(out, "samples of each", plot_words("%zu", run->sample_most).text);
    put_chip(out, "turns", plot_words("%zu", run->turn_count).text);
    put_chip(out, "model", run->models);
    put_chip(out, "language", run->languages);
    put_chip(out, "prompts", run->styles);
    put_chip(out, "reward", run->rewards);
    put_chip(out, "from", run->started_at);
    put_chip(out, "to", run->ended_at);
    put_remark(out, all->problem_count - all->problems_tried, "problems nobody came to");
    put_remark(out, all->samples_asked - all->samples_found, "samples are missing");
    put_remark(out, all->samples_lost, "samples lost to the infrastructure");
    put_remark(out, all->turns_excluded, "turns say nothing of the candidate");
    put_remark(out, run->ended_by_error, "episodes ended by an error");
    put_remark(out, run->repeated, "episodes came twice, and count once");
    put_remark(out, run->not_asked, "episodes of other problems are left out");
    put_remark(out, run->cut, "last line is half a line, and is left out");
    buf_puts(out, "</ul></div>");
}

static void put_header(const struct report *report, struct buf *out)
{
    for (size_t r = 0; r < report->run_count; r++)
        put_run(report, r, out);
    for (size_t i = 0; i < report->comparison_count; i++) {
        const struct report_comparison *comparison = &report->comparisons[i];
        buf_puts(out, "<p class=\"more\">Differences of <b>");
        html_text(out, report->runs[comparison->b].name);
        buf_puts(out, "</b> are against <b>");
        html_text(out, report->runs[comparison->a].name);
        buf_printf(out, "</b>, over the %zu problems that both were asked for",
                   comparison->problem_count);
        if (comparison->other_texts > 0)
            buf_printf(out, " (%zu of these changed in between)", comparison->other_texts);
        buf_puts(out, ".</p>");
    }
}

/* ---------------------------------------------------------------------------------------- slots */

static void put_style_hash(const struct report *report, struct buf *out)
{
    (void)report;
    put_source_hash(out, report_page_css);
}

static void put_script_hash(const struct report *report, struct buf *out)
{
    (void)report;
    put_source_hash(out, report_page_js);
}

static void put_style(const struct report *report, struct buf *out)
{
    (void)report;
    buf_puts(out, report_page_css);
}

static void put_script(const struct report *report, struct buf *out)
{
    (void)report;
    buf_puts(out, report_page_js);
}

static void put_made(const struct report *report, struct buf *out)
{
    (void)report;
    buf_puts(out, "warpgym " WARPGYM_VERSION);
}

static const struct slot {
    const char *name;
    void (*put)(const struct report *report, struct buf *out);
} slots[] = {
    {"title", put_title},  {"style_hash", put_style_hash}, {"script_hash", put_script_hash},
    {"style", put_style},  {"script", put_script},         {"header", put_header},
    {"tiles", page_tiles}, {"charts", page_charts},        {"groups", page_groups},
    {"turns", page_turns}, {"figures", page_figures},      {"problems", page_problems},
    {"made", put_made},
};

static int fill(const struct report *report, const char *name, size_t length, struct buf *out,
                struct err *err)
{
    if (length == 8 && memcmp(name, "episodes", length) == 0)
        return page_episodes(report, out, err);
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
        if (strlen(slots[i].name) == length && memcmp(slots[i].name, name, length) == 0) {
            slots[i].put(report, out);
            return 0;
        }
    return err_set(err, ERR_INTERNAL, "page.html has a slot that nothing fills: %.*s", (int)length,
                   name);
}

int report_html(const struct report *report, struct buf *out, struct err *err)
{
    int result = 0;
    for (const char *at = report_page_html; result == 0;) {
        const char *open = strstr(at, "{{");
        const char *close = open ? strstr(open, "}}") : NULL;
        if (!close) {
            buf_puts(out, at);
            break;
        }
        buf_append(out, at, (size_t)(open - at));
        result = fill(report, open + 2, (size_t)(close - open - 2), out, err);
        at = close + 2;
    }
    if (result == 0 && out->cut)
        result = err_set(err, ERR_LIMIT, "the page would have more than %zu bytes", out->max_bytes);
    return result;
}
