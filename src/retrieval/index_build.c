#include "retrieval/index_build.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "retrieval/embeddings.h"
#include "retrieval/index_db.h"
#include "retrieval/index_load.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory that appears complete or not at all, replacing an older one. It is created as
 * PATH.building-XXXXXX; one rename exchanges the two, so that readers of PATH see the old or the
 * new one, and a killed process leaves the old. Leftovers of killed processes are removed by the
 * next begin (each process holds a lock on its directory). */
struct staged_directory {
    char *target; /* without a trailing '/' */
    char *path;   /* to write into */
    int fd;
};

#define MARK ".building-"

static void remove_if_left(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        file_remove_tree(path);
    close(fd);
}

static void remove_left(const char *target)
{
    char *parent = file_parent(target);
    char *prefix = mem_printf("%s" MARK, file_basename(target));
    DIR *stream = opendir(parent);
    struct dirent *entry;
    while (stream && (entry = readdir(stream)))
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            char *path = mem_printf("%s/%s", parent, entry->d_name);
            remove_if_left(path);
            mem_free(path);
        }
    if (stream)
        closedir(stream);
    mem_free(prefix);
    mem_free(parent);
}

static int staged_directory_begin(struct staged_directory *staging, const char *target,
                                  struct err *err)
{
    *staging = (struct staged_directory){.fd = -1, .target = file_plain(target)};
    char *parent = file_parent(staging->target);
    int result = file_make_directories(parent, 0755, err);
    mem_free(parent);
    if (result < 0)
        return result;
    remove_left(staging->target);
    char *path = mem_printf("%s" MARK "XXXXXX", staging->target);
    if (!mkdtemp(path)) {
        result = err_sys(err, errno, "cannot create %s", path);
        mem_free(path);
        return result;
    }
    staging->path = path;
    staging->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (staging->fd < 0 || flock(staging->fd, LOCK_EX | LOCK_NB) < 0)
        return err_sys(err, errno, "cannot lock %s", path);
    if (fchmod(staging->fd, 0755) < 0)
        return err_sys(err, errno, "cannot set the mode of %s", path);
    return 0;
}

/* File systems without exchange have a moment with neither directory. */
static int replace_by_rename(const struct staged_directory *staging, struct err *err)
{
    char *aside = mem_printf("%s-old", staging->path);
    int result = 0;
    if (rename(staging->target, aside) < 0 || rename(staging->path, staging->target) < 0)
        result = err_sys(err, errno, "cannot replace %s", staging->target);
    else
        file_remove_tree(aside);
    mem_free(aside);
    return result;
}

static int staged_directory_commit(struct staged_directory *staging, struct err *err)
{
    int result = file_sync_files(staging->path, err);
    if (result < 0)
        return result;
    if (renameat2(AT_FDCWD, staging->path, AT_FDCWD, staging->target, RENAME_EXCHANGE) == 0)
        file_remove_tree(staging->path);
    else if (errno == ENOENT && rename(staging->path, staging->target) == 0)
        result = 0;
    else if (errno == EINVAL || errno == ENOSYS)
        result = replace_by_rename(staging, err);
    else
        result = err_sys(err, errno, "cannot rename %s into place", staging->target);
    if (result == 0) {
        mem_free(staging->path);
        staging->path = NULL;
        result = file_sync_parent(staging->target, err);
    }
    return result;
}

static void staged_directory_deinit(struct staged_directory *staging)
{
    if (staging->path)
        file_remove_tree(staging->path);
    if (staging->fd >= 0)
        close(staging->fd);
    mem_free(staging->path);
    mem_free(staging->target);
    *staging = (struct staged_directory){.fd = -1};
}

#define FACT_BYTES ((size_t)16 << 20)

struct builder {
    const struct index_build *build;
    struct index_db db;
    struct index_load load;
    json_t *sources;
    uint64_t done;
};

static bool is_cancelled(const struct builder *builder)
{
    return builder->build->cancelled && *builder->build->cancelled;
}

static int set_cancelled_error(struct err *err)
{
    return err_set(err, ERR_CANCELLED, "the build was cancelled; the old index is unchanged");
}

static void report_progress(struct builder *builder, const char *stage, uint64_t total)
{
    builder->done++;
    if (builder->build->progress)
        builder->build->progress(builder->build->context, stage, builder->done, total);
}

static int load_example(void *context, const struct example *example)
{
    struct builder *builder = context;
    report_progress(builder, "reading", 0);
    return is_cancelled(builder) ? set_cancelled_error(&builder->load.err)
                                 : index_load_add(&builder->load, example);
}

static json_t *describe_source(const char *path, const struct corpus_counts *counts,
                               uint64_t duplicates)
{
    json_t *source = json_object();
    json_t *complaints = json_array();
    json_put(source, "path", json_text(path));
    for (int i = 0; i < CORPUS_FATES; i++) {
        uint64_t count = counts->fates[i] - (i == CORPUS_TAKEN ? duplicates : 0);
        json_put(source, corpus_fate_name(i), json_integer((json_int_t)count));
    }
    json_put(source, "duplicates", json_integer((json_int_t)duplicates));
    json_put(source, "bad", json_integer((json_int_t)counts->bad));
    for (uint64_t i = 0; i < counts->bad && i < CORPUS_COMPLAINTS; i++)
        json_array_append_new(complaints, json_text(counts->complaints[i]));
    json_put(source, "complaints", complaints);
    return source;
}

static int read_source(struct builder *builder, const struct index_source *source, struct err *err)
{
    struct corpus_options options = builder->build->corpus;
    struct corpus_counts counts;
    struct corpus *corpus;
    options.format = source->format;
    options.cancelled = builder->build->cancelled;
    builder->load.duplicates = 0;
    builder->load.err.code = 0;
    int result = corpus_open(&corpus, &options, err);
    if (result < 0)
        return result;
    result = corpus_read(corpus, source->path, load_example, builder, &counts, err);
    corpus_close(corpus);
    if (result == ERR_CANCELLED)
        return set_cancelled_error(err);
    if (result < 0 && builder->load.err.code < 0)
        *err = builder->load.err;
    else if (result == 0)
        json_array_append_new(builder->sources,
                              describe_source(source->path, &counts, builder->load.duplicates));
    return result;
}

static int read_sources(struct builder *builder, struct err *err)
{
    const struct index_build *build = builder->build;
    int result = index_load_begin(&builder->load, &builder->db, err);
    if (result == 0)
        result = index_db_run(&builder->db, "begin", err);
    for (size_t i = 0; i < build->source_count && result == 0; i++)
        result = read_source(builder, &build->sources[i], err);
    if (result == 0)
        result = index_load_end(&builder->load, err);
    if (result == 0)
        result = index_db_run(&builder->db,
                              "commit; create index examples_reference on examples (reference);"
                              " create index examples_problem on examples (problem)"
                              " where problem <> ''",
                              err);
    index_load_deinit(&builder->load);
    if (result == 0 && builder->load.total == 0) {
        const json_t *first = json_array_get(builder->sources, 0);
        const char *why = json_string_value(
            json_array_get(json_object_get(first, "complaints"), 0));
        return err_set(err, ERR_INPUT, "no examples in %s%s%s%s", build->sources[0].path,
                       build->source_count > 1 ? " and the others" : "", why ? "; " : "",
                       why ? why : "");
    }
    return result;
}

#define EACH_EXAMPLE                                                                               \
    "select e.id, e.name, e.summary, r.text, e.solution from examples e"                           \
    " join refs r on r.id = e.reference order by e.id"

static int index_words(struct builder *builder, struct err *err)
{
    sqlite3_stmt *each = NULL, *add = NULL;
    int result = index_db_run(&builder->db, "begin", err);
    if (result == 0)
        result = index_db_prepare(&builder->db, EACH_EXAMPLE, &each, err);
    if (result == 0)
        result = index_db_prepare(&builder->db,
                                  "insert into words (rowid, name, reference, solution)"
                                  " values (?1, ?2 || ' ' || ?3, ?4, ?5)",
                                  &add, err);
    builder->done = 0;
    while (result == 0 && (result = index_db_step(&builder->db, each, err)) > 0) {
        sqlite3_bind_int64(add, 1, sqlite3_column_int64(each, 0));
        for (int i = 1; i < 5; i++)
            sqlite3_bind_value(add, i + 1, sqlite3_column_value(each, i));
        result = index_db_step(&builder->db, add, err);
        sqlite3_reset(add);
        report_progress(builder, "indexing", builder->load.total);
        if (result == 0 && is_cancelled(builder))
            result = set_cancelled_error(err);
    }
    sqlite3_finalize(each);
    sqlite3_finalize(add);
    if (result == 0)
        result = index_db_run(
            &builder->db,
            "insert into words(words) values ('optimize');"
            "commit;"
            "create virtual table temp.vocabulary using fts5vocab(main, words, col);"
            "insert into terms select term, max(case when col = 'solution' then 0 else doc end),"
            " max(doc) from temp.vocabulary group by term order by term;"
            "drop table temp.vocabulary; analyze",
            err);
    return result;
}

/* Texts of the next request. */
struct batch {
    char *texts[EMBEDDINGS_BATCH];
    size_t count;
};

static int write_batch(struct builder *builder, struct embeddings *embeddings, struct batch *batch,
                       size_t *dimension, int fd, struct err *err)
{
    float *vectors = NULL;
    int result = 0;
    if (batch->count > 0)
        result = embeddings_of(embeddings, (const char *const *)batch->texts, batch->count,
                               dimension, &vectors, err);
    if (result == 0 && batch->count > 0)
        result = file_write_fd(fd, INDEX_VECTORS, vectors,
                               batch->count * *dimension * sizeof *vectors, err);
    mem_free(vectors);
    for (size_t i = 0; i < batch->count; i++) {
        mem_free(batch->texts[i]);
        report_progress(builder, "embedding", builder->load.total);
    }
    batch->count = 0;
    return result;
}

static int embed_batches(struct builder *builder, struct embeddings *embeddings, int fd,
                         size_t *dimension, struct err *err)
{
    struct batch batch = {.count = 0};
    sqlite3_stmt *each = NULL;
    int result = index_db_prepare(&builder->db, EACH_EXAMPLE, &each, err);
    builder->done = 0;
    while (result == 0 && (result = index_db_step(&builder->db, each, err)) > 0) {
        result = 0;
        batch.texts[batch.count++] = mem_printf("%s\n%s", index_db_text(each, 1),
                                                index_db_text(each, 3));
        if (batch.count == EMBEDDINGS_BATCH)
            result = write_batch(builder, embeddings, &batch, dimension, fd, err);
        if (result == 0 && is_cancelled(builder))
            result = set_cancelled_error(err);
    }
    if (result == 0)
        result = write_batch(builder, embeddings, &batch, dimension, fd, err);
    for (size_t i = 0; i < batch.count; i++)
        mem_free(batch.texts[i]);
    sqlite3_finalize(each);
    return result;
}

static int embed_examples(struct builder *builder, const char *directory, struct err *err)
{
    struct embeddings *embeddings;
    char text[32];
    size_t dimension = 0;
    int result = embeddings_open(&embeddings, builder->build->settings, builder->build->cancelled,
                                 err);
    if (result < 0)
        return result;
    char *path = mem_printf("%s/" INDEX_VECTORS, directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    result = fd < 0 ? err_sys(err, errno, "cannot create %s", path)
                    : embed_batches(builder, embeddings, fd, &dimension, err);
    snprintf(text, sizeof text, "%zu", dimension);
    if (result == 0)
        result = index_db_set_fact(&builder->db, "dimension", text, err);
    if (result == 0)
        result = index_db_set_fact(&builder->db, "embeddings_model", embeddings_model(embeddings),
                                   err);
    if (fd >= 0)
        close(fd);
    mem_free(path);
    embeddings_close(embeddings);
    return result;
}

static int set_facts(struct builder *builder, struct err *err)
{
    char created[CLOCK_TEXT_BYTES], total[32];
    struct buf sources;
    buf_init(&sources, FACT_BYTES);
    clock_text(clock_wall_ms(), created);
    snprintf(total, sizeof total, "%llu", (unsigned long long)builder->load.total);
    int result = json_line_write(builder->sources, &sources, err);
    if (result == 0)
        result = index_db_set_fact(&builder->db, "sources", sources.data, err);
    if (result == 0)
        result = index_db_set_fact(&builder->db, "created_at", created, err);
    if (result == 0)
        result = index_db_set_fact(&builder->db, "examples", total, err);
    buf_deinit(&sources);
    return result;
}

static int build_into(struct builder *builder, const char *directory, struct err *err)
{
    int result = index_db_create(&builder->db, directory, err);
    if (result < 0)
        return result;
    result = read_sources(builder, err);
    if (result == 0)
        result = index_words(builder, err);
    if (result == 0 && builder->build->embeddings)
        result = embed_examples(builder, directory, err);
    if (result == 0)
        result = set_facts(builder, err);
    index_db_close(&builder->db);
    return result;
}

/* The target must be an index, an empty directory, or missing. */
static int check_target(const char *directory, struct err *err)
{
    struct index_db db;
    if (!file_exists(directory) || rmdir(directory) == 0)
        return 0;
    int result = index_db_open(&db, directory, err);
    if (result == 0)
        index_db_close(&db);
    bool foreign = result == ERR_MISSING || result == ERR_INPUT;
    return foreign ? err_set(err, ERR_INPUT, "%s exists and is not an index; name a new directory",
                             directory)
                   : 0;
}

int index_build(const struct index_build *build, struct err *err)
{
    struct builder builder = {.build = build, .sources = json_array()};
    struct staged_directory staging = {.fd = -1};
    int result = check_target(build->directory, err);
    if (result == 0)
        result = staged_directory_begin(&staging, build->directory, err);
    if (result == 0)
        result = build_into(&builder, staging.path, err);
    if (result == 0)
        result = staged_directory_commit(&staging, err);
    staged_directory_deinit(&staging);
    json_decref(builder.sources);
    return result;
}
