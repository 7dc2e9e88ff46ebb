#include "retrieval/fts_tokenizer.h"

#include "retrieval/analyzer.h"

/* FTS5 requires an object for each table; this one is empty. */
static int fts_create(void *context, const char **words, int count, Fts5Tokenizer **out)
{
    static char nothing;
    (void)context, (void)words, (void)count;
    *out = (Fts5Tokenizer *)&nothing;
    return SQLITE_OK;
}

static void fts_delete(Fts5Tokenizer *tokenizer)
{
}

struct sink {
    void *context;
    int (*token)(void *, int, const char *, int, int, int);
};

static int pass_word(void *context, const struct analyzer_word *word)
{
    struct sink *sink = context;
    return sink->token(sink->context, word->beside ? FTS5_TOKEN_COLOCATED : 0, word->text,
                       (int)word->length, (int)word->start, (int)word->end);
}

static int fts_tokenize(Fts5Tokenizer *tokenizer, void *context, int flags, const char *text,
                        int count, int (*token)(void *, int, const char *, int, int, int))
{
    struct sink sink = {.context = context, .token = token};
    if (flags & FTS5_TOKENIZE_QUERY)
        return token(context, 0, text, count, 0, count);
    return analyzer_each(text, (size_t)count, pass_word, &sink);
}

static fts5_api *find_api(sqlite3 *db)
{
    sqlite3_stmt *statement = NULL;
    fts5_api *api = NULL;
    if (sqlite3_prepare_v2(db, "select fts5(?1)", -1, &statement, NULL) == SQLITE_OK) {
        sqlite3_bind_pointer(statement, 1, &api, "fts5_api_ptr", NULL);
        sqlite3_step(statement);
    }
    sqlite3_finalize(statement);
    return api;
}

int fts_tokenizer_register(sqlite3 *db, struct err *err)
{
    fts5_tokenizer code = {fts_create, fts_delete, fts_tokenize};
    fts5_api *api = find_api(db);
    if (!api || api->xCreateTokenizer(api, "code", NULL, &code, NULL) != SQLITE_OK)
        return err_set(err, ERR_UNSUPPORTED,
                       "retrieval: this SQLite (%s) has no full-text search (FTS5)",
                       sqlite3_libversion());
    return 0;
}
