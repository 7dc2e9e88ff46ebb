/* report: figures over the trajectories or verdicts of one or several runs.
 *
 * report_open reads every file once and keeps facts, no texts; report_html reads them again for the
 * candidates' texts. Samples are identified by problem and sample number; an episode with iteration
 * > 0 continues the sample's previous one. Of a repeated episode the last counts.
 *
 * Each problem has as many samples as `samples` says, or else as the run's largest number of
 * samples of a problem; `problems` says how many problems, or which. Missing ones count as not
 * solved (metrics.h).
 *
 * Ownership: everything belongs to the struct report. Threads: immutable once open.
 * Errors: those of trajectory.h, each with file and line; ERR_INPUT for options that contradict the
 * files.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/word_table.h"
#include "gym/report/metrics.h"
#include "gym/report/plot.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPORT_RUNS 8 /* more lines in one plot are not distinguishable */
#define REPORT_THRESHOLDS 16
/* Measures of a set: five kinds of thresholds, two of k, and nine more. */
#define REPORT_MEASURES (5 * (REPORT_THRESHOLDS + 1) + 2 * REPORT_THRESHOLDS + 9)
#define REPORT_VERDICTS "verdicts.jsonl" /* in a directory of answers */
#define REPORT_CURVE 121                 /* points of the fast_p curve */
#define REPORT_PASS 64                   /* points of the pass@k curve */
#define REPORT_CURVE_LOW 0.1
#define REPORT_CURVE_HIGH 10.0

#define REPORT_GROUPINGS(X)                                                                        \
    X(REPORT_BY_NONE, "none")                                                                      \
    X(REPORT_BY_LEVEL, "level")                                                                    \
    X(REPORT_BY_CATEGORY, "category")                                                              \
    X(REPORT_BY_MODEL, "model")                                                                    \
    X(REPORT_BY_LANGUAGE, "language")
enum report_grouping { WORD_SYMBOLS(REPORT_GROUPINGS) };

struct report_options {
    double p[REPORT_THRESHOLDS]; /* ascending, above 0 */
    size_t p_count;
    size_t k[REPORT_THRESHOLDS]; /* ascending */
    size_t k_count;
    enum report_grouping by;
    size_t problem_total;        /* 0: as many as are found, or named */
    const char *const *problems; /* their names; NULL: unknown */
    size_t problem_count;
    bool whole_levels;        /* `problems` are a checkout's: those of the levels that a run has are
                                 asked for, and nothing else of it is left out */
    size_t samples;           /* of each problem; 0: see above */
    bool sound;               /* without episodes of problems that can be gamed */
    const char *const *names; /* of the runs; NULL: from their paths */
};

struct report_episode {
    const char *id, *problem, *hash, *level, *category, *model, *language, *policy, *style, *reward;
    const char *end;
    int64_t sample, iteration, max_turns;
    double gamma, first_return;
    struct gym_turn *turns;
    size_t turn_count;
    size_t order;  /* of its line in the file, from 0, without blank lines */
    bool begins;   /* the first episode of its sample */
    bool gameable; /* a verdict says that its problem can be gamed */
};

struct report_problem {
    const char *name;                       /* "": requested without a name */
    const char *level, *category, *hash;    /* "" if it was never reached */
    struct report_episode *const *episodes; /* of all samples, in order; borrowed */
    size_t episode_count;
    struct gym_problem gym;
};

/* Figures over a set of problems. */
struct report_set {
    const char *name;                /* of the group; "" */
    struct report_problem *problems; /* by name */
    size_t problem_count, problems_tried;
    size_t samples_asked, samples_found, samples_lost, turns_found, turns_excluded;
    struct gym_estimate *estimates; /* of report->measures */
};

struct report_turn {
    struct gym_estimate *estimates; /* of report->turn_measures */
    size_t mix[GYM_STATUS_COUNT];   /* samples, by what became of this turn */
};

struct report_run {
    const char *path, *name;
    const char *const *asked; /* names of requested problems */
    size_t asked_count;
    const char *models, *languages;    /* "a, b" */
    const char *styles, *rewards;      /* likewise */
    const char *started_at, *ended_at; /* the first and the last; "" */
    struct report_episode **episodes;  /* that count, by problem, sample, order */
    size_t episode_count, episodes_read;
    size_t repeated;       /* repeated episodes */
    size_t not_asked;      /* episodes of problems that were not requested */
    size_t gameable;       /* episodes of problems that can be gamed, counted or not */
    size_t ended_by_error; /* episodes */
    bool cut;              /* the last line was incomplete */
    size_t sample_most;    /* samples requested of a problem */
    struct report_set all, *groups;
    size_t group_count;
    struct report_turn *turns;
    size_t turn_count; /* of the longest sample */
    struct gym_changes changes;
    struct gym_estimate curve_problems[REPORT_CURVE], curve_samples[REPORT_CURVE];
    struct gym_estimate *pass_correct, *pass_fast; /* for k = 1 to pass_count; fast: p = 1 */
    size_t pass_count;
};

/* Run b against run a, over the problems requested of both. */
struct report_comparison {
    size_t a, b;
    size_t problem_count;
    size_t other_texts;               /* of these, problems with one name and different contents */
    struct gym_estimate *differences; /* of report->measures */
};

struct report {
    struct report_options options;
    struct gym_measure measures[REPORT_MEASURES];
    struct gym_measure turn_measures[REPORT_MEASURES]; /* .turn is to be set */
    size_t measure_count, turn_measure_count;
    struct report_run *runs;
    size_t run_count;
    struct report_comparison *comparisons; /* each later run with the first */
    size_t comparison_count;
    struct arena arena;
};

NODISCARD int report_open(struct report **out, const char *const *paths, size_t count,
                          const struct report_options *options, struct err *err);
void report_close(struct report *report);

/* Of point i of the curve. */
double report_curve_p(size_t i);
/* The index of a measure in report->measures; measure_count: not among them. */
size_t report_find(const struct report *report, enum gym_measure_kind kind, double p, size_t k);
size_t report_find_turn(const struct report *report, enum gym_measure_kind kind, double p);

/* Whether tables of groups have it. */
bool report_is_of_groups(const struct gym_measure *measure);

/* Its display name: "fast_1.5", "pass@4". */
struct plot_words report_label(const struct gym_measure *measure);
/* "72.5 %", "1.43x" (`times` is the x), "0.812"; and of a difference "+3.5", "x1.43", "-0.120". */
struct plot_words report_value(double value, enum gym_scale scale, const char *times);
struct plot_words report_change(double value, enum gym_scale scale, const char *times);
/* "60.0 % to 82.5 %"; "": there is no interval. */
struct plot_words report_interval(const struct gym_estimate *estimate, enum gym_scale scale,
                                  const char *times);
struct plot_words report_change_interval(const struct gym_estimate *difference,
                                         enum gym_scale scale, const char *times);
/* The sign of a difference: 1 better, -1 worse, 0 its interval includes "none". */
int report_verdict(const struct gym_measure *measure, const struct gym_estimate *difference);

/* docs/guide/report.md has its keys. A new reference. */
json_t *report_json(const struct report *report);
/* The parts that another page puts around a report's sections. */
struct report_frame {
    const char *title;
    void (*put_head)(void *context, struct buf *out); /* instead of the runs' names */
    void (*put_before)(void *context, struct buf *out);
    void (*put_after)(void *context, struct buf *out);
    void *context;
};

/* One self-contained page. `frame` may be NULL; with one, `report` may be. ERR_LIMIT: it would be
 * larger than LIMIT_REPORT_BYTES. */
NODISCARD int report_html(const struct report *report, const struct report_frame *frame,
                          struct buf *out, struct err *err);
