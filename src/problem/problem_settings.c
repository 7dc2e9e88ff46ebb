#include "problem/problem_settings.h"

#include "base/setting.h"

#define SECTION problems
static const struct setting_row problems_rows[] = {
    SETTING_TEXT(path, "",
                 "Directories of problems, separated by colons, searched before the installed "
                 "ones"),
};
SETTING_SECTION(problems, problems_rows);
