/* grid: problems and steps of a run, with the mean reward and the share of passed trajectories of
 * each.
 *
 *   {"steps": [[FIRST, LAST], …], "problems": [NAME, …], "left_out": N,
 *    "cells": [[COLUMN, TRAJECTORIES, PASSED, MEAN_REWARD or null], …] for each problem}
 *
 * Columns are as wide as each other, in steps. A trajectory counts by its best turn. Problems are
 * in the order of their first trajectory, at most LIMIT_WEB_GRID_ROWS. Pure. */
#pragma once

#include "server/web/trace_index.h"

#include <jansson.h>

/* A new reference. `columns` at least 1. */
json_t *grid_json(const struct trace_index *index, size_t columns);
