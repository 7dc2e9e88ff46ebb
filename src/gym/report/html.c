/* report_html: report/page/page.html with its slots filled; one of them is sections.html. The
 * page's policy admits only its own style and script, by their hashes; nothing is loaded from
 * elsewhere. */
#include "gym/report/page.h"

#include "base/array.h"
#include "base/hash.h"
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
    html_printf(out, "%s</h2><ul class=\"chips\">", run->name);
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
    put_remark(out, run->gameable,
               report->options.sound ? "episodes of problems that can be gamed are left out"
                                     : "episodes are of problems that can be gamed");
    put_remark(out, run->cut, "last line is half a line, and is left out");
    buf_puts(out, "</ul></div>");
}

void page_runs(const struct report *report, struct buf *out)
{
    for (size_t r = 0; r < report->run_count; r++)
        put_run(report, r, out);
    for (size_t i = 0; i < report->comparison_count; i++) {
        const struct report_comparison *comparison = &report->comparisons[i];
        html_printf(out,
                    "<p class=\"more\">Differences of <b>%s</b> are against <b>%s"
                    "</b>, over the %zu problems that both were asked for",
                    report->runs[comparison->b].name, report->runs[comparison->a].name,
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
    for (size_t i = 0; !page->frame && i < page->report->run_count; i++)
        html_printf(out, "%s%s", i > 0 ? " · " : "", page->report->runs[i].name);
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

/* What fills a slot, one of: a text or its hash, a part of the page or of the report, the episodes,
 * or a template with slots of its own, which a page without a report lacks. */
static const struct slot {
    const char *name;
    const char *text, *hashed, *template;
    void (*put)(const struct page *page, struct buf *out);
    void (*put_report)(const struct report *report, struct buf *out);
    int (*put_episodes)(const struct report *report, struct buf *out, struct err *err);
} slots[] = {
    {"title", .put = put_title},
    {"style_hash", .hashed = report_page_css},
    {"script_hash", .hashed = report_page_js},
    {"style", .text = report_page_css},
    {"script", .text = report_page_js},
    {"header", .put = put_page_head},
    {"before", .put = put_frame_before},
    {"after", .put = put_frame_after},
    {"made", .text = "warpgym " WARPGYM_VERSION},
    {"tiles", .put_report = page_tiles},
    {"charts", .put_report = page_charts},
    {"groups", .put_report = page_groups},
    {"turns", .put_report = page_turns},
    {"figures", .put_report = page_figures},
    {"problems", .put_report = page_problems},
    {"sections", .template = report_page_sections},
    {"episodes", .put_episodes = page_episodes},
};

static int fill_slot(const struct page *page, const char *name, size_t length, struct buf *out,
                     struct err *err)
{
    for (const struct slot *slot = slots; slot < slots + COUNT(slots); slot++) {
        if (strlen(slot->name) != length || memcmp(slot->name, name, length) != 0)
            continue;
        if (slot->text)
            buf_puts(out, slot->text);
        if (slot->hashed)
            put_source_hash(out, slot->hashed);
        if (slot->put)
            slot->put(page, out);
        if (slot->put_report)
            slot->put_report(page->report, out);
        if (slot->put_episodes && page->report)
            return slot->put_episodes(page->report, out, err);
        return slot->template && page->report ? expand_slots(page, slot->template, out, err) : 0;
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
