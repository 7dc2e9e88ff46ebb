#include "cli/jobs_table.h"

#include "base/mem.h"
#include "judge/verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct jobs_table {
    struct table *table;
    size_t rows;
    int64_t now_s;
};

struct jobs_table *jobs_table_new(void)
{
    struct jobs_table *table = mem_alloc(sizeof *table);
    table->table = table_new("id|state|outcome|problem|candidate|>speedup|>age|");
    table->now_s = (int64_t)time(NULL);
    return table;
}

void jobs_table_free(struct jobs_table *table)
{
    if (!table)
        return;
    table_free(table->table);
    mem_free(table);
}

void jobs_table_age(const char *created_at, int64_t now_s, char *text, size_t text_bytes)
{
    struct tm when = {0};
    *text = '\0';
    if (!created_at || !strptime(created_at, "%Y-%m-%dT%H:%M:%S", &when))
        return;
    int64_t age_s = now_s - (int64_t)timegm(&when);
    if (age_s < 0)
        age_s = 0;
    if (age_s < 120)
        snprintf(text, text_bytes, "%" PRId64 " s", age_s);
    else if (age_s < 7200)
        snprintf(text, text_bytes, "%" PRId64 " min", age_s / 60);
    else if (age_s < 172800)
        snprintf(text, text_bytes, "%" PRId64 " h", age_s / 3600);
    else
        snprintf(text, text_bytes, "%" PRId64 " d", age_s / 86400);
}

static const char *text_tail(const char *text, size_t most)
{
    size_t length = strlen(text);
    text += length > most ? length - most : 0;
    while (((unsigned char)*text & 0xC0) == 0x80) /* not inside a character */
        text++;
    return text;
}

void jobs_table_add(struct jobs_table *table, const struct remote_evaluation *evaluation)
{
    struct table *out = table->table;
    struct verdict verdict;
    struct interval speedup;
    struct err ignored;
    bool judged = verdict_read(evaluation->verdict, &verdict, &ignored) == 0;
    verdict_speedup(&verdict, &speedup);
    const char *outcome = evaluation->outcome ? evaluation->outcome : "-";
    bool ended = remote_is_ended(evaluation),
         passed = verdict_status_named(evaluation->outcome) == STATUS_PASSED;
    char age[32];
    jobs_table_age(evaluation->created_at, table->now_s, age, sizeof age);
    table_cell(out, STYLE_NONE, "%s", evaluation->id);
    table_cell(out, ended ? STYLE_FAINT : STYLE_NONE, "%s", remote_state_name(evaluation->state));
    table_cell(out, passed ? STYLE_GOOD : (ended ? STYLE_BAD : STYLE_NONE), "%.32s", outcome);
    table_cell(out, STYLE_NONE, "%.48s", judged ? verdict.problem_id : "-");
    table_cell(out, STYLE_NONE, "%s", judged ? text_tail(verdict.candidate_path, 32) : "-");
    if (isfinite(speedup.value))
        table_cell(out, STYLE_NONE, "%.2fx", speedup.value);
    else
        table_cell(out, STYLE_FAINT, "-");
    table_cell(out, STYLE_FAINT, "%s", age);
    table_cell(out, STYLE_FAINT, "%.60s", evaluation->reason ? evaluation->reason : "");
    table->rows++;
    verdict_deinit(&verdict);
}

void jobs_table_put(struct jobs_table *table, struct cli_call *call)
{
    if (table->rows > 0)
        table_render(table->table, style_wanted(STDOUT_FILENO), &call->out);
}
