#include "server/web/grid.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "judge/verdict.h"

#include <math.h>

struct grid_cell {
    uint32_t count, passed, rewarded;
    double sum; /* of rewards */
};

struct grid {
    uint64_t low, high; /* steps */
    uint64_t each;      /* steps of a column */
    size_t columns, rows;
    struct grid_cell *cells; /* [rows][columns] */
};

static void measure_grid(struct grid *grid, const struct trace_index *index, size_t columns)
{
    grid->low = UINT64_MAX;
    for (uint32_t i = 0; i < index->trajectory_count; i++) {
        uint64_t step = index->trajectories[i].step;
        grid->low = step < grid->low ? step : grid->low;
        grid->high = step > grid->high ? step : grid->high;
    }
    if (index->trajectory_count == 0)
        return;
    grid->each = (grid->high - grid->low) / columns + 1;
    grid->columns = (size_t)((grid->high - grid->low) / grid->each) + 1;
    grid->rows = index->problem_count < LIMIT_WEB_GRID_ROWS ? index->problem_count
                                                            : LIMIT_WEB_GRID_ROWS;
}

static void fill_grid(struct grid *grid, const struct trace_index *index)
{
    for (uint32_t i = 0; i < index->trajectory_count; i++) {
        const struct trace_trajectory *one = &index->trajectories[i];
        const struct trace_row *best = &index->rows[one->best];
        if (one->problem >= grid->rows)
            continue;
        size_t column = (size_t)((one->step - grid->low) / grid->each);
        struct grid_cell *cell = &grid->cells[one->problem * grid->columns + column];
        cell->count++;
        cell->passed += best->status == STATUS_PASSED;
        if (isfinite(best->reward)) {
            cell->rewarded++;
            cell->sum += best->reward;
        }
    }
}

static json_t *row_json(const struct grid *grid, size_t row)
{
    json_t *cells = json_array();
    for (size_t i = 0; i < grid->columns; i++) {
        const struct grid_cell *cell = &grid->cells[row * grid->columns + i];
        if (cell->count == 0)
            continue;
        double mean = cell->rewarded ? cell->sum / cell->rewarded : NAN;
        json_array_append_new(cells,
                              json_pack("[I, I, I, o]", (json_int_t)i, (json_int_t)cell->count,
                                        (json_int_t)cell->passed, json_number(mean)));
    }
    return cells;
}

json_t *grid_json(const struct trace_index *index, size_t columns)
{
    struct grid grid = {0};
    json_t *answer = json_object(), *steps = json_array(), *problems = json_array(),
           *cells = json_array();
    measure_grid(&grid, index, columns);
    grid.cells = mem_alloc((grid.rows * grid.columns + 1) * sizeof *grid.cells);
    fill_grid(&grid, index);
    for (size_t i = 0; i < grid.columns; i++) {
        uint64_t first = grid.low + i * grid.each, last = first + grid.each - 1;
        json_array_append_new(steps, json_pack("[I, I]", (json_int_t)first,
                                               (json_int_t)(last < grid.high ? last : grid.high)));
    }
    for (size_t i = 0; i < grid.rows; i++) {
        json_array_append_new(problems, json_text(index->names[i]));
        json_array_append_new(cells, row_json(&grid, i));
    }
    json_put(answer, "steps", steps);
    json_put(answer, "problems", problems);
    json_put(answer, "left_out", json_integer((json_int_t)(index->problem_count - grid.rows)));
    json_put(answer, "cells", cells);
    mem_free(grid.cells);
    return answer;
}
