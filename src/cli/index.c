/* index: build, search, stats. */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/printable.h"
#include "cli/search_paths.h"
#include "cli/table.h"
#include "problem/suite.h"
#include "retrieval/index_build.h"
#include "retrieval/index_stats.h"
#include "retrieval/retrieval.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OUT_BYTES ((size_t)64 << 20)
#define REDRAW_NS 100000000 /* on a terminal */
#define EXCERPT_LINES 12

struct arguments {
    struct cli_words search_paths, sets, words, levels;
    const char *format, *problem, *language;
    int64_t count;
    bool own, include_incorrect, embeddings, json, unguarded, quiet;
};

struct index_command {
    struct arguments arguments;
    struct settings settings;
    struct paths_list search_paths;
    int status;
};

/* False: end with `status`. */
static bool command_begin(struct index_command *command, int (*run)(int, char **),
                          const struct cli_option *options, int argc, char **argv)
{
    struct arguments *arguments = &command->arguments;
    struct err err;
    if (!cli_parse(run, options, argc, argv, &arguments->words, &command->status))
        return false;
    if (arguments->words.count == 0) {
        command->status = cli_usage(run, "name an index");
    } else if (!cli_settings(&command->settings, &arguments->sets)) {
        command->status = EXIT_USAGE;
    } else {
        if (cli_search_paths(&arguments->search_paths, &command->settings, &command->search_paths,
                             &err) == 0)
            return true;
        command->status = cli_fail(EXIT_USAGE, "%s", err.text);
        settings_deinit(&command->settings);
    }
    cli_end(options, &arguments->words, command->status);
    return false;
}

static int command_end(struct index_command *command, const struct cli_option *options)
{
    paths_list_deinit(&command->search_paths);
    settings_deinit(&command->settings);
    return cli_end(options, &command->arguments.words, command->status);
}

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

static void print_stats(const json_t *stats)
{
    const json_t *embeddings = json_object_get(stats, "embeddings");
    struct buf out;
    json_t *source;
    size_t i;
    buf_init(&out, OUT_BYTES);
    buf_printf(&out, "%-12s %s, built %s\n", "index",
               json_string_value(json_object_get(stats, "directory")),
               json_string_value(json_object_get(stats, "created_at")));
    buf_printf(&out, "%-12s %" PRId64 " of %" PRId64 " references\n", "examples",
               (int64_t)json_integer_value(json_object_get(stats, "examples")),
               (int64_t)json_integer_value(json_object_get(stats, "references")));
    print_counts(stats, "languages", &out);
    print_counts(stats, "categories", &out);
    if (json_is_object(embeddings))
        buf_printf(&out, "%-12s %s, %" PRId64 " numbers each\n", "embeddings",
                   json_string_value(json_object_get(embeddings, "model")),
                   (int64_t)json_integer_value(json_object_get(embeddings, "dimension")));
    else
        buf_printf(&out, "%-12s none\n", "embeddings");
    json_array_foreach(json_object_get(stats, "sources"), i, source) print_source(source, &out);
    printable_text(out.data, true);
    cli_print(&out);
    buf_deinit(&out);
}

static int stats_of(const char *directory, bool json)
{
    json_t *stats;
    struct err err;
    if (index_stats(directory, &stats, &err) < 0)
        return cli_fail_err(&err);
    if (json)
        cli_print_json(stats, OUT_BYTES);
    else
        print_stats(stats);
    json_decref(stats);
    return EXIT_PASSED;
}

int index_stats_main(int argc, char **argv)
{
    struct index_command command = {0};
    struct arguments *arguments = &command.arguments;
    const struct cli_option options[] = {
        OPTION_FLAG(0, "json", &arguments->json, "one JSON object"),
        OPTION_SET(&arguments->sets),
        OPTION_END,
    };
    if (!command_begin(&command, index_stats_main, options, argc, argv))
        return command.status;
    command.status = arguments->words.count == 1
                         ? stats_of(arguments->words.items[0], arguments->json)
                         : cli_fail(EXIT_USAGE, "index stats: name one index");
    return command_end(&command, options);
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

static int index_build_run(struct index_command *command, const struct index_source *sources,
                           size_t count)
{
    const struct arguments *arguments = &command->arguments;
    struct ticker ticker = {.wanted = isatty(STDERR_FILENO) && !arguments->quiet};
    struct index_build wanted = {
        .directory = arguments->words.items[0],
        .sources = sources,
        .source_count = count,
        .corpus = {.include_incorrect = arguments->include_incorrect,
                   .levels = (uint32_t)level_bits(&arguments->levels),
                   .search_paths = command->search_paths.items,
                   .search_path_count = command->search_paths.count},
        .embeddings = arguments->embeddings,
        .settings = &command->settings,
        .cancelled = &cli_cancelled,
        .progress = show_progress,
        .context = &ticker,
    };
    struct err err;
    cli_catch_signals();
    int result = check_format(arguments->format, &err);
    if (result == 0)
        result = index_build(&wanted, &err);
    if (ticker.shown)
        fputs("\r\033[K", stderr);
    if (result < 0)
        return cli_fail_err(&err);
    return arguments->quiet ? EXIT_PASSED : stats_of(wanted.directory, arguments->json);
}

int index_build_main(int argc, char **argv)
{
    struct index_command command = {0};
    struct arguments *arguments = &command.arguments;
    const struct cli_option options[] = {
        OPTION_GROUP("Sources"),
        OPTION_STRING(0, "format", &arguments->format, "FORM",
                      "auto, kernelbook, archive, pairs, trajectories, problems or directory"),
        OPTION_FLAG(0, "own", &arguments->own, "our own problems with their solutions, too"),
        OPTION_FLAG(0, "include-incorrect", &arguments->include_incorrect,
                    "solutions of the archive that are known to be wrong, too"),
        OPTION_LIST(0, "level", &arguments->levels, "N",
                    "of the archive: problems of this level; may be repeated"),
        OPTION_LIST(0, "problems", &arguments->search_paths, "DIR",
                    "search path of the trajectories' problems; may be repeated"),
        OPTION_GROUP("Index"),
        OPTION_FLAG(0, "embeddings", &arguments->embeddings,
                    "with embeddings of retrieval.embeddings_url"),
        OPTION_SET(&arguments->sets),
        OPTION_GROUP("Output"),
        OPTION_FLAG('q', "quiet", &arguments->quiet, "print nothing but errors"),
        OPTION_FLAG(0, "json", &arguments->json, "what `index stats --json` prints"),
        OPTION_END,
    };
    if (!command_begin(&command, index_build_main, options, argc, argv))
        return command.status;
    size_t named = arguments->words.count - 1, count = 0;
    /* Our own problems are the last search path. */
    bool own = arguments->own && command.search_paths.count > 0;
    struct index_source *sources = mem_alloc((named + 1) * sizeof *sources);
    for (size_t i = 0; i < named; i++)
        sources[count++] = (struct index_source){arguments->words.items[i + 1], arguments->format};
    if (own)
        sources[count++] = (struct index_source){
            command.search_paths.items[command.search_paths.count - 1], "problems"};
    if (count == 0)
        command.status = cli_fail(EXIT_USAGE, "index build: name a source, or give --own");
    else if (level_bits(&arguments->levels) < 0)
        command.status = cli_fail(EXIT_USAGE, "--level: a number from 1 to 9");
    else
        command.status = index_build_run(&command, sources, count);
    mem_free(sources);
    return command_end(&command, options);
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

static int index_search_run(struct index_command *command, const struct retrieval_query *query)
{
    struct retrieval *retrieval;
    json_t *examples, *example;
    struct err err;
    struct buf out;
    size_t i;
    if (retrieval_open(&retrieval, command->arguments.words.items[0], &command->settings, &err) < 0)
        return cli_fail_err(&err);
    int result = retrieval_search(retrieval, query, &examples, &err);
    retrieval_close(retrieval);
    if (result < 0)
        return cli_fail_err(&err);
    buf_init(&out, OUT_BYTES);
    json_array_foreach(examples, i, example)
    {
        if (command->arguments.json)
            cli_print_json(example, OUT_BYTES);
        else
            print_example(i + 1, example, &out);
    }
    printable_text(out.data, true);
    cli_print(&out);
    buf_deinit(&out);
    int status = json_array_size(examples) > 0 ? EXIT_PASSED : EXIT_SOME_FAILED;
    if (status != EXIT_PASSED)
        cli_fail(0, "nothing similar is in the index%s%s", query->language ? " in " : "",
                 query->language ? query->language : "");
    json_decref(examples);
    return status;
}

static int search_problem(struct index_command *command, struct retrieval_query *query)
{
    struct problem problem;
    struct err err;
    if (suite_load(command->search_paths.items, command->search_paths.count,
                   command->arguments.problem, &problem, &err) < 0)
        return cli_fail_err(&err);
    char *title = retrieval_title(&problem);
    query->text = problem.reference_text;
    query->title = title;
    query->problem_id = problem.id;
    int status = index_search_run(command, query);
    mem_free(title);
    problem_deinit(&problem);
    return status;
}

/* Searches by a source in a file, or by words. */
static int search_text(struct index_command *command, struct retrieval_query *query)
{
    const char *word = command->arguments.words.items[1];
    char *text = NULL;
    size_t count = 0;
    struct err err;
    query->text = word;
    query->anywhere = true;
    if (file_exists(word)) {
        if (file_read(word, LIMIT_SOURCE_BYTES, &text, &count, &err) < 0 ||
            file_check_text(word, text, count, &err) < 0) {
            mem_free(text);
            return cli_fail_err(&err);
        }
        query->text = text;
        query->anywhere = false;
    }
    int status = index_search_run(command, query);
    mem_free(text);
    return status;
}

int index_search_main(int argc, char **argv)
{
    struct index_command command = {.arguments = {.count = 3}};
    struct arguments *arguments = &command.arguments;
    char languages[CLI_LANGUAGES_BYTES];
    const struct cli_option options[] = {
        OPTION_GROUP("Question"),
        OPTION_STRING(0, "problem", &arguments->problem, "ID", "examples similar to this problem"),
        OPTION_STRING(0, "language", &arguments->language, "NAME",
                      cli_languages("of the solutions", languages)),
        OPTION_INT('n', "count", &arguments->count, 1, LIMIT_EXAMPLES, "N", "how many (3)"),
        OPTION_FLAG(0, "unguarded", &arguments->unguarded,
                    "also solutions of the same problem: for inspection, never for prompts"),
        OPTION_PROBLEMS(&arguments->search_paths),
        OPTION_SET(&arguments->sets),
        OPTION_GROUP("Output"),
        OPTION_FLAG(0, "json", &arguments->json, "one example a line, complete"),
        OPTION_END,
    };
    if (!command_begin(&command, index_search_main, options, argc, argv))
        return command.status;
    struct retrieval_query query = {.language = arguments->language,
                                    .count = (size_t)arguments->count,
                                    .unguarded = arguments->unguarded};
    if (arguments->words.count != (arguments->problem ? 1 : 2))
        command.status = cli_fail(EXIT_USAGE, "index search: give words, a file, or --problem");
    else if (arguments->problem)
        command.status = search_problem(&command, &query);
    else
        command.status = search_text(&command, &query);
    return command_end(&command, options);
}
