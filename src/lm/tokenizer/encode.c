#include "base/utf8.h"
#include "lm/tokenizer/mix.h"
#include "lm/tokenizer/parts.h"

#include <string.h>

#define IDLE_WORKSPACES 16
#define CACHE_WORDS 16384 /* 2 MiB */
#define CACHED_BYTES 52
#define CACHED_IDS 17

/* A cached word; a newer one replaces another. */
struct cached {
    uint32_t hash;
    uint8_t bytes, ids; /* 0 bytes: none */
    char word[CACHED_BYTES];
    int32_t found[CACHED_IDS];
};

/* What one call of tokenizer_encode needs beside the tokenizer; kept for the next call. */
struct workspace {
    struct workspace *next;
    struct pattern_search *search;
    struct bpe_work bpe;
    int32_t *ids; /* of one word */
    size_t capacity;
    struct buf normal[2], prefixed;
    struct cached *cache;
};

struct encoding {
    struct tokenizer *tokenizer;
    struct workspace *work;
    bool special;
    bool middle; /* this piece follows on a byte that is no UTF-8: no space is put before it */
    struct tokens *out;
    struct err *err;
};

static struct workspace *workspace_take(struct tokenizer *tokenizer)
{
    pthread_mutex_lock(&tokenizer->lock);
    struct workspace *work = tokenizer->idle;
    if (work) {
        tokenizer->idle = work->next;
        tokenizer->idle_count--;
    }
    pthread_mutex_unlock(&tokenizer->lock);
    if (work)
        return work;
    work = mem_alloc(sizeof *work);
    work->search = pattern_search_new();
    work->cache = mem_alloc(CACHE_WORDS * sizeof *work->cache);
    buf_init(&work->normal[0], 4 * LIMIT_TOKENIZER_TEXT_BYTES);
    buf_init(&work->normal[1], 4 * LIMIT_TOKENIZER_TEXT_BYTES);
    buf_init(&work->prefixed, 4 * LIMIT_TOKENIZER_TEXT_BYTES + 1);
    return work;
}

void workspace_free_all(struct workspace *workspace)
{
    while (workspace) {
        struct workspace *next = workspace->next;
        pattern_search_free(workspace->search);
        bpe_work_deinit(&workspace->bpe);
        mem_free(workspace->ids);
        buf_deinit(&workspace->normal[0]);
        buf_deinit(&workspace->normal[1]);
        buf_deinit(&workspace->prefixed);
        mem_free(workspace->cache);
        mem_free(workspace);
        workspace = next;
    }
}

static void workspace_give_back(struct tokenizer *tokenizer, struct workspace *work)
{
    work->next = NULL;
    pthread_mutex_lock(&tokenizer->lock);
    bool keep = tokenizer->idle_count < IDLE_WORKSPACES;
    if (keep) {
        work->next = tokenizer->idle;
        tokenizer->idle = work;
        tokenizer->idle_count++;
    }
    pthread_mutex_unlock(&tokenizer->lock);
    if (!keep)
        workspace_free_all(work);
}

static int put_ids(struct encoding *e, const int32_t *ids, size_t count)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < count; i++)
        result = tokens_add(e->out, ids[i], e->err);
    return result;
}

/* Tokens of what the vocabulary has no token for: its bytes, or the unknown one. */
static int put_unknown(struct encoding *e, const char *bytes, size_t count, int32_t *ids,
                       size_t *found)
{
    const struct tokenizer *tokenizer = e->tokenizer;
    bool spelled = tokenizer->byte_fallback;
    for (size_t i = 0; i < count && spelled; i++)
        spelled = tokenizer->byte_ids[(uint8_t)bytes[i]] >= 0;
    if (spelled) {
        for (size_t i = 0; i < count; i++)
            ids[(*found)++] = tokenizer->byte_ids[(uint8_t)bytes[i]];
        return 0;
    }
    if (tokenizer->unk < 0)
        return err_set(e->err, ERR_INPUT,
                       "the tokenizer has no token for '%.*s', and none for unknown ones",
                       (int)count, bytes);
    ids[(*found)++] = tokenizer->unk;
    return 0;
}

/* A word of a vocabulary that is made of characters, one token for each. */
static int start_characters(struct encoding *e, const char *word, size_t count, size_t *found)
{
    int32_t *ids = e->work->ids;
    bool unknown = false; /* the last one, and more of them are one with it */
    int result = 0;
    *found = 0;
    for (size_t at = 0, length; result == 0 && at < count; at += length) {
        length = utf8_sequence(word + at, count - at);
        length = length ? length : 1;
        int32_t id = names_find(&e->tokenizer->vocab, word + at, length);
        size_t before = *found;
        if (id >= 0)
            ids[(*found)++] = id;
        else
            result = put_unknown(e, word + at, length, ids, found);
        bool again = id < 0 && *found == before + 1 && ids[before] == e->tokenizer->unk;
        if (again && unknown)
            --*found;
        unknown = again && e->tokenizer->fuse_unk;
    }
    return result;
}

static int merge_word(struct encoding *e, const char *word, size_t count, size_t *found)
{
    struct workspace *work = e->work;
    if (work->capacity < count) {
        work->capacity = 2 * count;
        work->ids = mem_resize(work->ids, work->capacity * sizeof *work->ids);
    }
    if (e->tokenizer->byte_level) {
        for (size_t i = 0; i < count; i++)
            work->ids[i] = e->tokenizer->byte_ids[(uint8_t)word[i]];
        *found = count;
    } else {
        int result = start_characters(e, word, count, found);
        if (result < 0)
            return result;
    }
    *found = bpe_merge(&e->tokenizer->bpe, &work->bpe, work->ids, *found);
    return 0;
}

static int put_word(struct encoding *e, const char *word, size_t count)
{
    struct tokenizer *tokenizer = e->tokenizer;
    uint64_t hash = mix_bytes(tokenizer->vocab.seed, word, count);
    struct cached *cached = &e->work->cache[hash % CACHE_WORDS];
    uint32_t high = (uint32_t)(hash >> 32);
    if (cached->hash == high && cached->bytes == count && memcmp(cached->word, word, count) == 0)
        return put_ids(e, cached->found, cached->ids);
    size_t found = 0;
    const int32_t *ids;
    int32_t whole = tokenizer->ignore_merges ? names_find(&tokenizer->vocab, word, count) : -1;
    if (whole >= 0) {
        ids = &whole;
        found = 1;
    } else {
        int result = merge_word(e, word, count, &found);
        if (result < 0)
            return result;
        ids = e->work->ids;
    }
    if (count <= CACHED_BYTES && found <= CACHED_IDS) {
        cached->hash = high;
        cached->bytes = (uint8_t)count;
        cached->ids = (uint8_t)found;
        memcpy(cached->word, word, count);
        memcpy(cached->found, ids, found * sizeof *ids);
    }
    return put_ids(e, ids, found);
}

static int put_piece(struct encoding *e, size_t step, const char *text, size_t count);

struct span {
    size_t start, end;
    bool match;
};

/* Whether a span goes on with the one before it. */
static bool joins(enum split_behavior behavior, bool before, bool now)
{
    switch (behavior) {
    case SPLIT_CONTIGUOUS:
        return before == now;
    case SPLIT_MERGED_WITH_PREVIOUS:
        return now && !before;
    case SPLIT_MERGED_WITH_NEXT:
        return before && !now;
    default:
        return false;
    }
}

struct splitting {
    struct encoding *e;
    size_t step;
    const struct split *split;
    const char *text;
    struct span held; /* the last one, which may grow */
    bool holds;
};

static int put_held(struct splitting *s)
{
    bool dropped = s->split->behavior == SPLIT_REMOVED && s->held.match;
    if (!s->holds || dropped || s->held.start == s->held.end)
        return 0;
    return put_piece(s->e, s->step + 1, s->text + s->held.start, s->held.end - s->held.start);
}

static int put_span(struct splitting *s, size_t from, size_t to, bool match)
{
    match ^= s->split->invert;
    if (s->holds && joins(s->split->behavior, s->held.match, match)) {
        s->held.end = to;
        s->held.match = match;
        return 0;
    }
    int result = put_held(s);
    s->held = (struct span){from, to, match};
    s->holds = true;
    return result;
}

/* Matches, and what lies between them. An empty match right behind another one is none. */
static int split_text(struct splitting *s, size_t count)
{
    size_t done = 0, from = 0, start, end;
    bool any = false;
    int result = 0;
    while (result == 0 && from <= count) {
        int found = pattern_find(s->split->pattern, s->e->work->search, s->text, count, from,
                                 &start, &end, s->e->err);
        if (found < 0)
            return found;
        if (found == 0)
            break;
        if (start == end && any && end == done) {
            size_t length = from < count ? utf8_sequence(s->text + from, count - from) : 0;
            from += length ? length : 1;
            continue;
        }
        if (done < start)
            result = put_span(s, done, start, false);
        if (result == 0)
            result = put_span(s, start, end, true);
        any = true;
        from = done = end;
    }
    if (result == 0 && done < count)
        result = put_span(s, done, count, false);
    return result < 0 ? result : put_held(s);
}

static int put_piece(struct encoding *e, size_t step, const char *text, size_t count)
{
    if (count == 0)
        return 0;
    if (step == e->tokenizer->split_count)
        return put_word(e, text, count);
    const struct split *split = &e->tokenizer->splits[step];
    if (split->prefix_space && text[0] != ' ' && !e->middle) {
        struct buf *prefixed = &e->work->prefixed;
        buf_reset(prefixed);
        buf_append(prefixed, " ", 1);
        buf_append(prefixed, text, count);
        text = prefixed->data;
        count = prefixed->len;
    }
    if (!split->pattern)
        return put_piece(e, step + 1, text, count);
    struct splitting splitting = {.e = e, .step = step, .split = split, .text = text};
    return split_text(&splitting, count);
}

/* Cuts added tokens out, and hands on what lies between them. */
static int each_between(struct encoding *e, const struct added *added, const char *text,
                        size_t count,
                        int (*put)(struct encoding *e, const char *text, size_t count))
{
    struct added_match match;
    size_t done = 0;
    int result = 0;
    while (result == 0 && added_find(added, text, count, done, e->special, &match)) {
        if (match.start > done)
            result = put(e, text + done, match.start - done);
        if (result == 0)
            result = tokens_add(e->out, match.id, e->err);
        done = match.end;
        e->middle = false;
    }
    if (result == 0 && done < count)
        result = put(e, text + done, count - done);
    return result;
}

static int put_normal(struct encoding *e, const char *text, size_t count)
{
    return put_piece(e, 0, text, count);
}

static int put_raw(struct encoding *e, const char *text, size_t count)
{
    text = normalizer_apply(&e->tokenizer->normalizer, text, &count, e->work->normal);
    if (!text)
        return err_set(e->err, ERR_LIMIT, "a text that is too long in its normal form");
    return each_between(e, &e->tokenizer->normalized, text, count, put_normal);
}

static int put_bad_byte(struct encoding *e, const char *byte)
{
    int32_t id = e->tokenizer->byte_ids[(uint8_t)*byte];
    if (id < 0)
        id = e->tokenizer->unk;
    if (id < 0)
        return err_set(e->err, ERR_INPUT, "the text is not UTF-8, and the tokenizer has no bytes");
    return tokens_add(e->out, id, e->err);
}

/* Valid UTF-8 piece by piece; the bytes between are words of their own. */
static int put_text(struct encoding *e, const char *text, size_t count)
{
    size_t start = 0, at = 0;
    int result = 0;
    while (result == 0 && at < count) {
        size_t length = utf8_sequence(text + at, count - at);
        if (length > 0) {
            at += length;
            continue;
        }
        if (at > start)
            result = each_between(e, &e->tokenizer->raw, text + start, at - start, put_raw);
        if (result == 0)
            result = put_bad_byte(e, text + at);
        start = ++at;
        e->middle = true;
    }
    if (result == 0 && at > start)
        result = each_between(e, &e->tokenizer->raw, text + start, at - start, put_raw);
    return result;
}

int tokenizer_encode(struct tokenizer *tokenizer, const char *text, size_t count,
                     const struct tokenizer_encoding *how, struct tokens *out, struct err *err)
{
    if (count > LIMIT_TOKENIZER_TEXT_BYTES)
        return err_set(err, ERR_LIMIT, "a text of more than %zu bytes", LIMIT_TOKENIZER_TEXT_BYTES);
    size_t before = out->count;
    struct encoding e = {.tokenizer = tokenizer, .special = how->special, .out = out, .err = err};
    int result = 0;
    e.work = workspace_take(tokenizer);
    if (how->begin)
        result = put_ids(&e, tokenizer->before, tokenizer->before_count);
    if (result == 0)
        result = put_text(&e, text, count);
    if (result == 0 && how->begin)
        result = put_ids(&e, tokenizer->after, tokenizer->after_count);
    workspace_give_back(tokenizer, e.work);
    if (result < 0)
        out->count = before;
    return result;
}
