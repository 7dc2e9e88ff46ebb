#include "gym/episode/best.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "gym/episode/trajectory.h"
#include "judge/request/language.h"

#include <math.h>
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

/* False: there is none, or another version of warpgym wrote it. verdict_deinit in both cases. */
static bool read_verdict(const char *place, struct verdict *verdict)
{
    char *path = mem_printf("%s/verdict.json", place);
    struct err ignored;
    json_t *json = NULL;
    bool found = json_file_read(path, LIMIT_QUEUE_BODY_BYTES, &json, &ignored) == 0;
    found = verdict_read(json, verdict, &ignored) == 0 && found;
    json_decref(json);
    mem_free(path);
    return found;
}

static bool is_for_problem(const struct verdict *verdict, const char *hash)
{
    return verdict->correct && strcmp(verdict->problem_hash, hash) == 0;
}

json_t *best_start(const char *directory, const char *problem, const char *hash,
                   const char *language)
{
    char *place = problem_directory(directory, problem), *code = NULL, digest[HASH_HEX_BYTES];
    char *path = mem_printf("%s/solution%s", place, ending_of(language));
    struct verdict verdict;
    json_t *start = NULL;
    size_t bytes;
    struct err ignored;
    if (read_verdict(place, &verdict) && is_for_problem(&verdict, hash) &&
        file_read(path, LIMIT_SOURCE_BYTES, &code, &bytes, &ignored) == 0) {
        hash_bytes(code, bytes, digest);
        if (strcmp(verdict.candidate_hash, digest) == 0)
            start = json_pack("{s:o, s:o}", "code", json_text_bytes(code, bytes), "verdict",
                              verdict_json(&verdict));
    }
    verdict_deinit(&verdict);
    mem_free(code);
    mem_free(path);
    mem_free(place);
    return start;
}

/* The difference must exceed measurement noise: otherwise the luckiest measurement would win. */
static bool is_faster(const struct verdict *verdict, const struct verdict *found)
{
    struct interval mine, other;
    verdict_speedup(verdict, &mine);
    verdict_speedup(found, &other);
    double least = isfinite(mine.low) && mine.low > 0 ? mine.low : mine.value;
    return isfinite(least) && least > (isfinite(other.value) ? other.value : 0);
}

static int write_both(const char *place, const char *language, const char *code,
                      const struct verdict *verdict, struct err *err)
{
    json_t *json = verdict_json(verdict);
    char *source = mem_printf("%s/solution%s", place, ending_of(language));
    char *path = mem_printf("%s/verdict.json", place);
    int result = file_make_directories(place, 0755, err);
    if (result == 0)
        result = file_write_atomic(source, code, strlen(code), 0644, err);
    if (result == 0)
        result = json_file_write(path, json, false, err);
    json_decref(json);
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
    struct verdict verdict, found;
    int result = 0;
    *kept = false;
    if (trajectory_verdict(turn, &verdict)) {
        char *place = problem_directory(directory, json_text_at(trajectory, "problem"));
        if (!read_verdict(place, &found) || !is_for_problem(&found, hash) ||
            is_faster(&verdict, &found)) {
            result = write_both(place, json_text_at(trajectory, "language"),
                                json_text_at(turn, "code"), &verdict, err);
            *kept = result == 0;
        }
        verdict_deinit(&found);
        mem_free(place);
    }
    verdict_deinit(&verdict);
    return result;
}
