/* report_next: a verdict as an episode of one turn, so that both have the same figures. */
#include "gym/report/internal.h"

#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "gym/reward/reward.h"
#include "problem/kernelbench.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

int report_lines_open(struct lines **out, const char *path, struct err *err)
{
    int result = trajectory_open(out, path, err);
    if (result != ERR_MISSING || !file_is_directory(path))
        return result;
    char *file = mem_printf("%s/" REPORT_VERDICTS, path);
    result = trajectory_open(out, file, err);
    if (result == ERR_MISSING)
        err_set(err, ERR_MISSING, "%s: holds neither " TRAJECTORY_FILE " nor " REPORT_VERDICTS,
                path);
    mem_free(file);
    return result;
}

const char *report_level(struct arena *arena, const char *problem)
{
    const char *slash = strchr(problem, '/');
    if (!slash || strncmp(problem, "level", 5) != 0 || !isdigit((unsigned char)problem[5]))
        return "";
    return arena_strndup(arena, problem, (size_t)(slash - problem));
}

/* Verdicts with one identity are of one sample: its number is in the candidate's name, or else it
 * is known by its text. */
static json_t *identity_of(const struct verdict *verdict, bool numbered)
{
    char *text = mem_printf("%s %s %s", verdict->problem_id, verdict->candidate_path,
                            numbered ? "" : verdict->candidate_hash);
    json_t *identity = json_text(text);
    mem_free(text);
    return identity;
}

static json_t *turn_of(const struct verdict *verdict, json_t *json)
{
    struct reward_facts facts;
    struct interval speedup;
    json_t *turn = json_object();
    reward_facts_read(verdict, NULL, COVERAGE_TIME, &facts);
    verdict_speedup(verdict, &speedup);
    bool timed = facts.correct && isfinite(facts.speedup);
    json_put(turn, "format_ok", json_boolean(facts.format_ok));
    json_put(turn, "compiled", json_boolean(facts.compiled));
    json_put(turn, "correct", json_boolean(facts.correct));
    json_put(turn, "excluded", json_boolean(facts.excluded));
    json_put(turn, "status", json_text(verdict_status_name(verdict->status)));
    json_put(turn, "speedup", json_real(timed ? speedup.value : 0));
    json_put(turn, "speedup_low", json_real(timed && isfinite(speedup.low) ? speedup.low : 0));
    json_put(turn, "speedup_high", json_real(timed && isfinite(speedup.high) ? speedup.high : 0));
    json_put(turn, "verdict", json_incref(json));
    return turn;
}

static json_t *episode_of(const struct verdict *verdict, json_t *json)
{
    struct kernelbench_answer name;
    struct arena arena = {0};
    json_t *episode = json_object(), *turns = json_array();
    bool numbered = kernelbench_answer_named(verdict->candidate_path, &name);
    const char *level = report_level(&arena, verdict->problem_id);
    json_put(episode, "episode", identity_of(verdict, numbered));
    json_put(episode, "problem", json_text(verdict->problem_id));
    json_put(episode, "problem_hash", json_text(verdict->problem_hash));
    json_put(episode, "level", json_text(*level ? level : verdict->problem_format));
    json_put(episode, "sample", json_integer(numbered ? name.sample : -1));
    json_put(episode, "language", json_text(verdict->candidate_language));
    json_array_append_new(turns, turn_of(verdict, json));
    json_put(episode, "turns", turns);
    arena_deinit(&arena);
    return episode;
}

/* Replaces a verdict's JSON by its episode's. */
static int make_episode(json_t **json, struct err *err)
{
    struct verdict verdict;
    int result = verdict_read(*json, &verdict, err);
    if (result == 0) {
        json_t *episode = episode_of(&verdict, *json);
        json_decref(*json);
        *json = episode;
    }
    verdict_deinit(&verdict);
    return result;
}

int report_next(struct lines *lines, struct trajectory *next, bool *cut, struct err *err)
{
    json_t *json;
    struct trajectory read;
    int result = trajectory_next_line(lines, &json, cut, err);
    if (result <= 0)
        return result;
    bool judged = json_is_object(json_object_get(json, "candidate"));
    if (judged && make_episode(&json, err) < 0) {
        json_decref(json);
        return err_prefix(err, "%s:%zu", lines_path(lines), lines_number(lines));
    }
    result = trajectory_take(&read, json, lines_path(lines), lines_number(lines), err);
    if (result < 0)
        return result;
    if (judged)
        read.first_return = read.turns[0].reward = NAN;
    *next = read;
    return 1;
}

const char *report_candidate_text(const json_t *verdict, struct arena *arena)
{
    struct err ignored;
    const json_t *candidate = json_object_get(verdict, "candidate");
    char hash[HASH_HEX_BYTES], *text;
    const char *kept = "";
    size_t bytes;
    if (file_read(json_text_at(candidate, "path"), LIMIT_SOURCE_BYTES, &text, &bytes, &ignored) < 0)
        return "";
    hash_bytes(text, bytes, hash);
    if (strcmp(hash, json_text_at(candidate, "hash")) == 0)
        kept = arena_strdup(arena, text);
    mem_free(text);
    return kept;
}
