/* index: build, search, stats. */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/printable.h"
#include "problem/suite.h"
#include "retrieval/index_build.h"
#include "retrieval/index_stats.h"
#include "retrieval/retrieval.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REDRAW_NS 100000000 /* on a terminal */
#define EXCERPT_LINES 12

struct arguments {
    struct cli_words levels;
    const char *format, *problem, *language;
    int64_t count;
    bool own, include_incorrect, embeddings, json, unguarded, quiet;
};

static void print_counts(const json_t *stats, const char *key, struct buf *out)
{
    const char *name;
    json_t *count;
    bool first = true;
    json_object_foreach(json_object_get(stats, key), name, count)
    {
        buf_printf(out, "%-12s %s %" PRId64 "\n", first ? key : "", name,
                   (int64_t)json_integer_value(count));
        first = false;
    }
}

static void print_source(const json_t *source, struct buf *out)
{
    const char *key;
    json_t *value;
    size_t i;
    buf_printf(out, "%-12s %s:", "source", json_string_value(json_object_get(source, "path")));
    const char *comma = "";
    json_object_foreach(json_object_get(source, "path") ? (json_t *)source : NULL, key, value)
    {
        if (!json_is_integer(value) ||
            (json_integer_value(value) == 0 && strcmp(key, "taken") != 0))
            continue;
        buf_printf(out, "%s %" PRId64 " %s", comma, (int64_t)json_integer_value(value), key);
        comma = ",";
    }
    buf_puts(out, "\n");
    json_array_foreach(json_object_get(source, "complaints"), i, value)
        buf_printf(out, "%-12s %s\n", "", json_string_value(value));
}

static void print_stats(const json_t *stats, struct buf *out)
{
    const json_t *embeddings = json_object_get(stats, "embeddings");
    json_t *source;
    size_t i;
    buf_printf(out, "%-12s %s, built %s\n", "index",
               json_string_value(json_object_get(stats, "directory")),
               json_string_value(json_object_get(stats, "created_at")));
    buf_printf(out, "%-12s %" PRId64 " of %" PRId64 " references\n", "examples",
               (int64_t)json_integer_value(json_object_get(stats, "examples")),
               (int64_t)json_integer_value(json_object_get(stats, "references")));
    print_counts(stats, "languages", out);
    print_counts(stats, "categories", out);
    if (json_is_object(embeddings))
        buf_printf(out, "%-12s %s, %" PRId64 " numbers each\n", "embeddings",
                   json_string_value(json_object_get(embeddings, "model")),
                   (int64_t)json_integer_value(json_object_get(embeddings, "dimension")));
    else
        buf_printf(out, "%-12s none\n", "embeddings");
    json_array_foreach(json_object_get(stats, "sources"), i, source) print_source(source, out);
    printable_text(out->data, true);
}

static int stats_of(struct cli_call *call, bool json, struct err *err)
{
    json_t *stats;
    int result = index_stats(call->words.items[0], &stats, err);
    if (result < 0)
        return result;
    if (json) {
        cli_put_json(call, stats);
    } else {
        print_stats(stats, &call->out);
        json_decref(stats);
    }
    return 0;
}

static int index_stats_run(struct cli_call *call, void *arguments, struct err *err)
{
    const bool *json = arguments;
    return stats_of(call, *json, err);
}

int index_stats_main(struct cli_call *call)
{
    bool json = false;
    const struct cli_option options[] = {
        OPTION_FLAG(0, "json", &json, "one JSON object"),
        OPTION_SET,
        OPTION_END,
    };
    return cli_run(call, options, index_stats_run, &json);
}

/* One line on a terminal that redraws itself; nothing elsewhere. */
struct ticker {
    bool shown, wanted;
    int64_t drawn_ns;
};

static void show_progress(void *context, const char *stage, uint64_t done, uint64_t total)
{
    struct ticker *ticker = context;
    int64_t now = clock_now_ns();
    if (!ticker->wanted || (now - ticker->drawn_ns < REDRAW_NS && done != total))
        return;
    ticker->drawn_ns = now;
    ticker->shown = true;
    if (total)
        fprintf(stderr, "\r\033[K%s %" PRIu64 " of %" PRIu64, stage, done, total);
    else
        fprintf(stderr, "\r\033[K%s %" PRIu64, stage, done);
}

/* Of a format, before anything is read. */
static int check_format(const char *format, struct err *err)
{
    const struct corpus_options options = {.format = format};
    struct corpus *corpus;
    int result = corpus_open(&corpus, &options, err);
    corpus_close(corpus);
    return result;
}

/* --level 1 --level 2 as bits; -1: invalid. */
static int64_t level_bits(const struct cli_words *levels)
{
    int64_t bits = 0;
    for (size_t i = 0; i < levels->count; i++) {
        const char *level = levels->items[i];
        if (level[0] < '1' || level[0] > '9' || level[1] != '\0')
            return -1;
        bits |= 1 << (level[0] - '0');
    }
    return bits;
}

/* The sources that are named, and our own problems; the caller's. */
static struct index_source *sources_of(const struct cli_call *call,
                                       const struct arguments *arguments, size_t *count)
{
    const struct paths_list *paths = &call->search_paths;
    struct index_source *sources = mem_alloc(call->words.count * sizeof *sources);
    *count = 0;
    for (size_t i = 1; i < call->words.count; i++)
        sources[(*count)++] = (struct index_source){call->words.items[i], arguments->format};
    /* Our own problems are the last search path. */
    if (arguments->own && paths->count > 0)
        sources[(*count)++] = (struct index_source){paths->items[paths->count - 1], "problems"};
    return sources;
}

static int build_from(struct cli_call *call, const struct arguments *arguments,
                      const struct index_source *sources, size_t count, struct err *err)
{
    struct ticker ticker = {.wanted = isatty(STDERR_FILENO) && !arguments->quiet};
    struct index_build wanted = {
        .directory = call->words.items[0],
        .sources = sources,
        .source_count = count,
        .corpus = {.include_incorrect = arguments->include_incorrect,
                   .levels = (uint32_t)level_bits(&arguments->levels),
                   .search_paths = &call->search_paths},
        .embeddings = arguments->embeddings,
        .settings = &call->settings,
        .cancelled = &cli_cancelled,
        .progress = show_progress,
        .context = &ticker,
    };
    cli_catch_signals();
    int result = check_format(arguments->format, err);
    if (result == 0)
        result = index_build(&wanted, err);
    if (ticker.shown)
        fputs("\r\033[K", stderr);
    return result < 0 || arguments->quiet ? result : stats_of(call, arguments->json, err);
}

static int index_build_run(struct cli_call *call, void *context, struct err *err)
{
    const struct arguments *arguments = context;
    size_t count;
    struct index_source *sources = sources_of(call, arguments, &count);
    int result;
    if (count == 0)
        result = cli_fail(EXIT_USAGE, "index build: name a source, or give --own");
    else if (level_bits(&arguments->levels) < 0)
        result = cli_fail(EXIT_USAGE, "--level: a number from 1 to 9");
    else
        result = build_from(call, arguments, sources, count, err);
    mem_free(sources);
    return result;
}

int index_build_main(struct cli_call *call)
{
    struct arguments arguments = {0};
    const struct cli_option options[] = {
        OPTION_GROUP("Sources"),
        OPTION_STRING(0, "format", &arguments.format, "FORM",
                      "auto, kernelbook, archive, pairs, trajectories, problems or directory"),
        OPTION_FLAG(0, "own", &arguments.own, "our own problems with their solutions, too"),
        OPTION_FLAG(0, "include-incorrect", &arguments.include_incorrect,
                    "solutions of the archive that are known to be wrong, too"),
        OPTION_LIST(0, "level", &arguments.levels, "N",
                    "of the archive: problems of this level; may be repeated"),
        OPTION_PROBLEMS_HELP("search path of the trajectories' problems; may be repeated"),
        OPTION_GROUP("Index"),
        OPTION_FLAG(0, "embeddings", &arguments.embeddings,
                    "with vectors of retrieval.embeddings_model"),
        OPTION_SET,
        OPTION_GROUP("Output"),
        OPTION_FLAG('q', "quiet", &arguments.quiet, "print nothing but errors"),
        OPTION_FLAG(0, "json", &arguments.json, "what `index stats --json` prints"),
        OPTION_END,
    };
    return cli_run(call, options, index_build_run, &arguments);
}

static void print_excerpt(const char *text, struct buf *out)
{
    for (int line = 0; *text && line < EXCERPT_LINES; line++) {
        size_t length = strcspn(text, "\n");
        buf_printf(out, "    %.*s\n", (int)(length < 200 ? length : 200), text);
        text += length + (text[length] == '\n');
    }
    buf_puts(out, *text ? "    …\n\n" : "\n");
}

static void print_example(size_t number, const json_t *example, struct buf *out)
{
    double speedup = json_number_value(json_object_get(example, "speedup"));
    const char *summary = json_text_at(example, "summary"),
               *category = json_text_at(example, "category");
    buf_printf(out, "%zu. %s (%s, %s%s%s", number, json_text_at(example, "name"),
               json_text_at(example, "language"), json_text_at(example, "source"),
               category[0] ? ", " : "", category);
    if (speedup > 0)
        buf_printf(out, ", %.3gx", speedup);
    buf_printf(out, ") %.4f%s%s\n", json_number_value(json_object_get(example, "score")),
               summary[0] ? "\n   " : "", summary);
    print_excerpt(json_text_at(example, "solution"), out);
}

static int put_examples(struct cli_call *call, const struct retrieval_query *query, bool json,
                        struct err *err)
{
    struct retrieval *retrieval;
    json_t *examples, *example;
    size_t i;
    int result = retrieval_open(&retrieval, call->words.items[0], &call->settings, err);
    if (result < 0)
        return result;
    result = retrieval_search(retrieval, query, &examples, err);
    retrieval_close(retrieval);
    if (result < 0)
        return result;
    json_array_foreach(examples, i, example)
    {
        if (json)
            cli_put_json(call, json_incref(example));
        else
            print_example(i + 1, example, &call->out);
    }
    if (!json)
        printable_text(call->out.data, true);
    bool found = json_array_size(examples) > 0;
    if (!found)
        cli_fail(0, "nothing similar is in the index%s%s", query->language ? " in " : "",
                 query->language ? query->language : "");
    json_decref(examples);
    return found ? EXIT_PASSED : EXIT_SOME_FAILED;
}

static int search_problem(struct cli_call *call, const struct arguments *arguments,
                          struct retrieval_query *query, struct err *err)
{
    struct problem problem;
    int result = suite_load(&call->search_paths, arguments->problem, &problem, err);
    if (result < 0)
        return result;
    char *title = retrieval_title(&problem);
    query->text = problem.reference_text;
    query->title = title;
    query->problem_id = problem.id;
    result = put_examples(call, query, arguments->json, err);
    mem_free(title);
    problem_deinit(&problem);
    return result;
}

/* Searches by a source in a file, or by words. */
static int search_text(struct cli_call *call, const struct arguments *arguments,
                       struct retrieval_query *query, struct err *err)
{
    const char *word = call->words.items[1];
    char *text = NULL;
    size_t count = 0;
    int result = 0;
    query->anywhere = !file_exists(word);
    if (!query->anywhere)
        result = file_read(word, LIMIT_SOURCE_BYTES, &text, &count, err);
    if (result == 0 && text)
        result = file_check_text(word, text, count, err);
    query->text = text ? text : word;
    if (result == 0)
        result = put_examples(call, query, arguments->json, err);
    mem_free(text);
    return result;
}

static int index_search_run(struct cli_call *call, void *context, struct err *err)
{
    const struct arguments *arguments = context;
    struct retrieval_query query = {.language = arguments->language,
                                    .count = (size_t)arguments->count,
                                    .unguarded = arguments->unguarded};
    if (call->words.count != (arguments->problem ? 1 : 2))
        return cli_fail(EXIT_USAGE, "index search: give words, a file, or --problem");
    return (arguments->problem ? search_problem : search_text)(call, arguments, &query, err);
}

int index_search_main(struct cli_call *call)
{
    struct arguments arguments = {.count = 3};
    char languages[CLI_LANGUAGES_BYTES];
    const struct cli_option options[] = {
        OPTION_GROUP("Question"),
        OPTION_STRING(0, "problem", &arguments.problem, "ID", "examples similar to this problem"),
        OPTION_STRING(0, "language", &arguments.language, "NAME",
                      cli_languages("of the solutions", languages)),
        OPTION_INT('n', "count", &arguments.count, 1, LIMIT_EXAMPLES, "N", "how many (3)"),
        OPTION_FLAG(0, "unguarded", &arguments.unguarded,
                    "also solutions of the same problem: for inspection, never for prompts"),
        OPTION_PROBLEMS,
        OPTION_SET,
        OPTION_GROUP("Output"),
        OPTION_FLAG(0, "json", &arguments.json, "one example a line, complete"),
        OPTION_END,
    };
    return cli_run(call, options, index_search_run, &arguments);
}
