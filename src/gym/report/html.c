/* report_html: report/page/page.html with its slots filled; one of them is sections.html. The
 * page's policy admits only its own style and script, by their hashes; nothing is loaded from
 * elsewhere. */
#include "gym/report/page.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/limits.h"
#include "gym/report/plot.h"

#include <stdint.h>
#include <string.h>

static unsigned hex_digit(char digit)
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
            bits = bits << 4 | (j < given ? hex_digit(hex[i + j]) : 0);
        for (size_t j = 0; j < 4; j++)
            buf_append(out, j <= given * 4 / 6 ? &digits[bits >> (18 - 6 * j) & 63] : "=", 1);
    }
    buf_puts(out, "'");
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
    html_chip(out, "episodes", plot_words("%zu", run->episode_count).text);
    html_chip(out, "problems", plot_words("%zu", all->problem_count).text);
    html_chip(out, "samples of each", plot_words("%zu", run->sample_most).text);
    html_chip(out, "turns", plot_words("%zu", run->turn_count).text);
    html_chip(out, "model", run->models);
    html_chip(out, "language", run->languages);
    html_chip(out, "prompts", run->styles);
    html_chip(out, "reward", run->rewards);
    html_chip(out, "from", run->started_at);
    html_chip(out, "to", run->ended_at);
    put_remark(out, all->problem_count - all->problems_tried, "problems were not reached");
    put_remark(out, all->samples_asked - all->samples_found, "samples are missing");
    put_remark(out, all->samples_lost, "samples lost to the infrastructure");
    put_remark(out, all->turns_excluded, "turns say nothing of the candidate");
    put_remark(out, run->ended_by_error, "episodes ended by an error");
    put_remark(out, run->repeated, "episodes came twice, and count once");
    put_remark(out, run->not_asked, "episodes of other problems are left out");
    put_remark(out, run->cut, "last line is half a line, and is left out");
    buf_puts(out, "</ul></div>");
}

void page_runs(const struct report *report, struct buf *out)
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

/* The source of a slot. */
struct page {
    const struct report *report;      /* NULL: no sections */
    const struct report_frame *frame; /* may be NULL */
};

static int expand_slots(const struct page *page, const char *template, struct buf *out,
                        struct err *err);

static void put_title(const struct page *page, struct buf *out)
{
    if (page->frame)
        html_text(out, page->frame->title);
    for (size_t i = 0; !page->frame && i < page->report->run_count; i++) {
        buf_puts(out, i > 0 ? " · " : "");
        html_text(out, page->report->runs[i].name);
    }
}

static void put_page_head(const struct page *page, struct buf *out)
{
    if (page->frame)
        page->frame->put_head(page->frame->context, out);
    else
        page_runs(page->report, out);
}

static void put_frame_before(const struct page *page, struct buf *out)
{
    if (page->frame)
        page->frame->put_before(page->frame->context, out);
}

static void put_frame_after(const struct page *page, struct buf *out)
{
    if (page->frame)
        page->frame->put_after(page->frame->context, out);
}

static void put_style_hash(const struct page *page, struct buf *out)
{
    (void)page;
    put_source_hash(out, report_page_css);
}

static void put_script_hash(const struct page *page, struct buf *out)
{
    (void)page;
    put_source_hash(out, report_page_js);
}

static void put_style(const struct page *page, struct buf *out)
{
    (void)page;
    buf_puts(out, report_page_css);
}

static void put_script(const struct page *page, struct buf *out)
{
    (void)page;
    buf_puts(out, report_page_js);
}

static void put_made(const struct page *page, struct buf *out)
{
    (void)page;
    buf_puts(out, "warpgym " WARPGYM_VERSION);
}

static int put_sections(const struct page *page, struct buf *out, struct err *err)
{
    return page->report ? expand_slots(page, report_page_sections, out, err) : 0;
}

static int put_episodes(const struct page *page, struct buf *out, struct err *err)
{
    return page->report ? page_episodes(page->report, out, err) : 0;
}

/* One of three: of the page, of the report, or one that can fail. */
static const struct slot {
    const char *name;
    void (*put)(const struct page *page, struct buf *out);
    void (*put_report)(const struct report *report, struct buf *out);
    int (*fill)(const struct page *page, struct buf *out, struct err *err);
} slots[] = {
    {"title", put_title, NULL, NULL},
    {"style_hash", put_style_hash, NULL, NULL},
    {"script_hash", put_script_hash, NULL, NULL},
    {"style", put_style, NULL, NULL},
    {"script", put_script, NULL, NULL},
    {"header", put_page_head, NULL, NULL},
    {"before", put_frame_before, NULL, NULL},
    {"after", put_frame_after, NULL, NULL},
    {"made", put_made, NULL, NULL},
    {"tiles", NULL, page_tiles, NULL},
    {"charts", NULL, page_charts, NULL},
    {"groups", NULL, page_groups, NULL},
    {"turns", NULL, page_turns, NULL},
    {"figures", NULL, page_figures, NULL},
    {"problems", NULL, page_problems, NULL},
    {"sections", NULL, NULL, put_sections},
    {"episodes", NULL, NULL, put_episodes},
};

static int fill_slot(const struct page *page, const char *name, size_t length, struct buf *out,
                     struct err *err)
{
    for (const struct slot *slot = slots; slot < slots + COUNT(slots); slot++) {
        if (strlen(slot->name) != length || memcmp(slot->name, name, length) != 0)
            continue;
        if (slot->put)
            slot->put(page, out);
        if (slot->put_report)
            slot->put_report(page->report, out);
        return slot->fill ? slot->fill(page, out, err) : 0;
    }
    return err_set(err, ERR_INTERNAL, "the page has a slot that nothing fills: %.*s", (int)length,
                   name);
}

static int expand_slots(const struct page *page, const char *template, struct buf *out,
                        struct err *err)
{
    int result = 0;
    for (const char *at = template; result == 0;) {
        const char *open = strstr(at, "{{");
        const char *close = open ? strstr(open, "}}") : NULL;
        if (!close) {
            buf_puts(out, at);
            break;
        }
        buf_append(out, at, (size_t)(open - at));
        result = fill_slot(page, open + 2, (size_t)(close - open - 2), out, err);
        at = close + 2;
    }
    return result;
}

int report_html(const struct report *report, const struct report_frame *frame, struct buf *out,
                struct err *err)
{
    const struct page page = {report, frame};
    int result = expand_slots(&page, report_page_html, out, err);
    if (result == 0 && out->cut)
        result = err_set(err, ERR_LIMIT, "the page would have more than %zu bytes", out->max_bytes);
    return result;
}
