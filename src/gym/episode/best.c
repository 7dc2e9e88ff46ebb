#include "gym/episode/best.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "gym/episode/trajectory.h"
#include "judge/request/language.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *ending_of(const char *language)
{
    const struct language *row = language_named(language);
    return row ? row->endings[0] : "";
}

/* A directory below `directory`, valid for any id. */
static char *problem_directory(const char *directory, const char *problem)
{
    char *place = mem_printf("%s/%s", directory, problem);
    for (char *at = place + strlen(directory) + 1; *at; at++)
        if (*at == '/' || (*at == '.' && at[-1] == '/'))
            *at = '_';
    return place;
}

static json_t *read_verdict(const char *place)
{
    char *path = mem_printf("%s/verdict.json", place), *text = NULL;
    size_t bytes;
    struct err ignored;
    json_t *verdict = NULL;
    if (file_read(path, LIMIT_QUEUE_BODY_BYTES, &text, &bytes, &ignored) == 0 &&
        json_parse(path, text, bytes, &verdict, &ignored) == 0 && !json_is_object(verdict)) {
        json_decref(verdict);
        verdict = NULL;
    }
    mem_free(text);
    mem_free(path);
    return verdict;
}

static bool is_for_language(const json_t *verdict, const char *hash)
{
    return strcmp(json_text_at(json_object_get(verdict, "problem"), "hash"), hash) == 0 &&
           json_is_true(json_object_get(verdict, "correct"));
}

json_t *best_start(const char *directory, const char *problem, const char *hash,
                   const char *language)
{
    char *place = problem_directory(directory, problem), *code = NULL, digest[HASH_HEX_BYTES];
    char *path = mem_printf("%s/solution%s", place, ending_of(language));
    json_t *verdict = read_verdict(place), *start = NULL;
    size_t bytes;
    struct err ignored;
    if (verdict && is_for_language(verdict, hash) &&
        file_read(path, LIMIT_SOURCE_BYTES, &code, &bytes, &ignored) == 0) {
        hash_bytes(code, bytes, digest);
        if (strcmp(json_text_at(json_object_get(verdict, "candidate"), "hash"), digest) == 0)
            start = json_pack("{s:o, s:O}", "code", json_text_bytes(code, bytes), "verdict",
                              verdict);
    }
    json_decref(verdict);
    mem_free(code);
    mem_free(path);
    mem_free(place);
    return start;
}

static double speedup_of(const json_t *verdict)
{
    return json_number_value(json_object_get(json_object_get(verdict, "timing"), "speedup"));
}

/* The difference must exceed measurement noise: otherwise the luckiest measurement would win. */
static bool is_faster(const json_t *verdict, const json_t *found)
{
    const json_t *timing = json_object_get(verdict, "timing");
    const json_t *low = json_array_get(json_object_get(timing, "speedup_interval"), 0);
    double least = json_is_number(low) ? json_number_value(low) : speedup_of(verdict);
    return least > speedup_of(found);
}

static int write_both(const char *place, const char *language, const char *code,
                      const json_t *verdict, struct err *err)
{
    char *source = mem_printf("%s/solution%s", place, ending_of(language));
    char *path = mem_printf("%s/verdict.json", place);
    char *text = json_dumps(verdict, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    int result = file_make_directories(place, 0755, err);
    if (result == 0)
        result = file_write_atomic(source, code, strlen(code), 0644, err);
    if (result == 0)
        result = file_write_atomic(path, text, strlen(text), 0644, err);
    free(text);
    mem_free(path);
    mem_free(source);
    return result;
}

int best_keep(const char *directory, const json_t *trajectory, bool *kept, struct err *err)
{
    json_int_t best = json_integer_value(json_object_get(trajectory, "best_turn"));
    const json_t *turn = best < 0
                             ? NULL
                             : json_array_get(json_object_get(trajectory, "turns"), (size_t)best);
    const char *hash = json_text_at(trajectory, "problem_hash");
    json_t *verdict = trajectory_verdict(json_text_at(turn, "verdict"));
    *kept = false;
    if (!verdict)
        return 0;
    char *place = problem_directory(directory, json_text_at(trajectory, "problem"));
    json_t *found = read_verdict(place);
    int result = 0;
    if (!found || !is_for_language(found, hash) || is_faster(verdict, found)) {
        result = write_both(place, json_text_at(trajectory, "language"), json_text_at(turn, "code"),
                            verdict, err);
        *kept = result == 0;
    }
    json_decref(found);
    json_decref(verdict);
    mem_free(place);
    return result;
}
