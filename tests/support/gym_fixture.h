/* gym_fixture: a gym over our own problems, opened once for all tests that follow TEST_GROUP. A
 * test program includes this once. */
#pragma once

#include "base/paths.h"
#include "gym/gym.h"
#include "test.h"

static struct settings settings;
static struct paths_list search_paths;
static struct gym *gym;

FIXTURE(open_gym)
{
    struct err err;
    settings_init(&settings);
    assert_ok(paths_problems("", &search_paths, &err), &err);
    assert_ok(gym_open(&gym, &settings, &search_paths, &err), &err);
    return 0;
}

FIXTURE(close_gym)
{
    gym_close(gym);
    paths_list_deinit(&search_paths);
    settings_deinit(&settings);
    return 0;
}

TEST_GROUP(open_gym, close_gym);
