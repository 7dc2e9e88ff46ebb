/* audited: each problem is audited once, when it is first judged, and what came of it stands in the
 * verdict of every candidate.
 *
 *   verdict ◄── this judge's memory ◄── the build cache, by problem ◄── problem_audit_run
 *
 * An audit that was made to its end is kept under the problem's hash, its precision, whether it was
 * made on a GPU, and the version of the audit; `warpgym problem check` leaves it there, too. One
 * that audit.budget_ms cut short is kept under that bound, and made again by other processes,
 * AUDIT_TRIES times in all: the machine may have been busy. One that failed is kept by this judge
 * alone, and made again after AUDIT_AGAIN_MS: the machine may have lacked memory. Sessions that
 * want the same audit wait for the first one's.
 *
 * Ownership: the judge's. Threads: any.
 */
#pragma once

#include "judge/problem_audit.h"

#include <pthread.h>

#define AUDITED_MOST 1024 /* that a judge keeps in memory */
#define AUDIT_TRIES 3
#define AUDIT_AGAIN_MS 60000

struct audited {
    char key[HASH_HEX_BYTES]; /* "": none */
    char *text;               /* JSON; NULL: a session is at it */
    int64_t until_ns;         /* when it is made again */
};

struct audits {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    struct audited kept[AUDITED_MOST];
    size_t next;
};

void audits_init(struct audits *audits);
void audits_deinit(struct audits *audits);

/* What an evaluation wants to know. */
struct audit_request {
    const struct problem *problem;
    const char *reference_hash;      /* of the problem as it is judged */
    const struct settings *settings; /* of the evaluation */
    const _Atomic int *cancelled;    /* NULL: it cannot be cancelled */
    struct session *next;            /* the evaluation's: problem_audit.h */
};

/* Puts the outcome into the verdict, and makes the audit if there is none. */
void audits_get(struct judge *judge, const struct audit_request *request, struct verdict *verdict);
/* Keeps what `problem check` found. */
void audits_keep(struct judge *judge, const struct problem *problem,
                 const struct problem_audit *audit, double took_ms);
