#include "retrieval/index_db.h"

#include "base/file.h"
#include "base/mem.h"
#include "retrieval/fts_tokenizer.h"

#include <stdio.h>
#include <string.h>

#define MMAP_BYTES "4294967296"
#define TEXT(x) #x
#define NUMBER(x) TEXT(x)

static const char schema[] =
    "pragma page_size = 8192;"
    "pragma journal_mode = off;"
    "pragma synchronous = off;"
    "pragma locking_mode = exclusive;"
    "pragma application_id = " NUMBER(
        INDEX_APPLICATION) ";"
                           "pragma user_version = " NUMBER(
                               INDEX_FORMAT) ";"
                                             "create table facts (name text primary key, value "
                                             "text not null) without rowid;"
                                             "create table languages (number integer primary key, "
                                             "name text not null unique,"
                                             " examples integer not null, first_row integer not "
                                             "null);"
                                             "create table refs (id integer primary key, hash blob "
                                             "not null unique, sketch blob not null,"
                                             " text text not null);"
                                             "create table examples (id integer primary key, hash "
                                             "blob not null unique,"
                                             " reference integer not null, sketch blob not null, "
                                             "speedup real not null,"
                                             " problem text not null, category text not null, "
                                             "source text not null, name text not null,"
                                             " summary text not null, solution text not null);"
                                             "create virtual table words using fts5(name, "
                                             "reference, solution, tokenize = 'code',"
                                             " content = '');"
                                             "create table terms (term text primary key, near "
                                             "integer not null, examples integer not null)"
                                             " without rowid;"
                                             "insert into words(words, rank) values ('automerge', "
                                             "0), ('hashsize', 134217728);";

/* Sets *err from the last SQLite error. */
static int index_db_error(struct index_db *db, struct err *err)
{
    int code = db->handle ? sqlite3_errcode(db->handle) & 0xFF : SQLITE_NOMEM;
    const char *text = db->handle ? sqlite3_errmsg(db->handle) : "out of memory";
    switch (code) {
    case SQLITE_NOTADB:
        return err_set(err, ERR_INPUT, "%s is not an index; name another directory", db->path);
    case SQLITE_CORRUPT:
        return err_set(err, ERR_PROTOCOL, "%s: the index is damaged (%s): rebuild it", db->path,
                       text);
    case SQLITE_FULL:
        return err_set(err, ERR_LIMIT, "%s: the disk is full", db->path);
    default:
        return err_set(err, ERR_IO, "%s: %s", db->path, text);
    }
}

int index_db_run(struct index_db *db, const char *sql, struct err *err)
{
    return sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? 0
                                                                        : index_db_error(db, err);
}

int index_db_prepare(struct index_db *db, const char *sql, sqlite3_stmt **statement,
                     struct err *err)
{
    *statement = NULL;
    return sqlite3_prepare_v2(db->handle, sql, -1, statement, NULL) == SQLITE_OK
               ? 0
               : index_db_error(db, err);
}

int index_db_step(struct index_db *db, sqlite3_stmt *statement, struct err *err)
{
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        return 1;
    return result == SQLITE_DONE ? 0 : index_db_error(db, err);
}

const char *index_db_text(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text ? text : "";
}

static int open_handle(struct index_db *db, const char *name, int flags, struct err *err)
{
    int result = sqlite3_open_v2(name, &db->handle, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (result != SQLITE_OK)
        return index_db_error(db, err);
    sqlite3_limit(db->handle, SQLITE_LIMIT_ATTACHED, 0);
    /* The file is untrusted: its schema must not call functions. */
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    return fts_tokenizer_register(db->handle, err);
}

int index_db_create(struct index_db *db, const char *directory, struct err *err)
{
    *db = (struct index_db){.path = mem_printf("%s/" INDEX_FILE, directory)};
    int result = open_handle(db, db->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
    if (result == 0)
        result = index_db_run(db, schema, err);
    if (result < 0)
        index_db_close(db);
    return result;
}

static int read_number(struct index_db *db, const char *sql, int64_t *number, struct err *err)
{
    sqlite3_stmt *statement;
    int result = index_db_prepare(db, sql, &statement, err);
    if (result == 0)
        result = index_db_step(db, statement, err);
    *number = result > 0 ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return result < 0 ? result : 0;
}

static int check_format(struct index_db *db, struct err *err)
{
    int64_t application = 0, format = 0;
    int result = read_number(db, "pragma application_id", &application, err);
    if (result == 0)
        result = read_number(db, "pragma user_version", &format, err);
    if (result < 0)
        return result;
    if (application != INDEX_APPLICATION)
        return err_set(err, ERR_INPUT, "%s is not an index but another database", db->path);
    if (format != INDEX_FORMAT)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s has format %lld, this warpgym reads %d: rebuild the index", db->path,
                       (long long)format, INDEX_FORMAT);
    return 0;
}

/* Escapes the characters that a SQLite URI treats specially. */
static char *escaped(const char *path)
{
    char *uri = mem_alloc(3 * strlen(path) + 1);
    size_t length = 0;
    for (; *path; path++)
        if (strchr("%?#", *path))
            length += (size_t)snprintf(uri + length, 4, "%%%02X", (unsigned char)*path);
        else
            uri[length++] = *path;
    return uri;
}

int index_db_open(struct index_db *db, const char *directory, struct err *err)
{
    *db = (struct index_db){.path = mem_printf("%s/" INDEX_FILE, directory)};
    int result = 0;
    if (!file_exists(db->path)) {
        result = err_set(err, ERR_MISSING,
                         "%s has no index; `warpgym index build %s SOURCE` creates one", directory,
                         directory);
    } else {
        /* The file is never written: no lock, no journal. */
        char *path = escaped(db->path);
        char *uri = mem_printf("file:%s?immutable=1", path);
        result = open_handle(db, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
        mem_free(uri);
        mem_free(path);
    }
    if (result == 0)
        result = check_format(db, err);
    if (result == 0)
        result = index_db_run(db, "pragma mmap_size = " MMAP_BYTES "; pragma query_only = on", err);
    if (result < 0)
        index_db_close(db);
    return result;
}

void index_db_close(struct index_db *db)
{
    if (db->handle)
        sqlite3_close(db->handle);
    mem_free(db->path);
    *db = (struct index_db){0};
}

int index_db_set_fact(struct index_db *db, const char *name, const char *value, struct err *err)
{
    sqlite3_stmt *statement;
    int result = index_db_prepare(db, "insert or replace into facts values (?1, ?2)", &statement,
                                  err);
    if (result == 0) {
        sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 2, value, -1, SQLITE_STATIC);
        result = index_db_step(db, statement, err);
    }
    sqlite3_finalize(statement);
    return result;
}

int index_db_fact(struct index_db *db, const char *name, char **value, struct err *err)
{
    sqlite3_stmt *statement;
    *value = NULL;
    int result = index_db_prepare(db, "select value from facts where name = ?1", &statement, err);
    if (result == 0) {
        sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
        result = index_db_step(db, statement, err);
    }
    if (result > 0)
        *value = mem_strdup(index_db_text(statement, 0));
    sqlite3_finalize(statement);
    return result < 0 ? result : 0;
}
