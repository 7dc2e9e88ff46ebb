#include "../support/test.h"
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A run that begins in the same second as another gets a directory of its own. */
TEST(new_run)
{
    char before[512], first[64], second[64], third[64];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(support_directory()) | mkdir("runs", 0700), 0);
    do { /* until one second sees all three */
        assert_ptr_equal(cli_new_run(first, sizeof first), first);
        assert_int_equal(mkdir(first, 0700), 0);
        cli_new_run(second, sizeof second);
        assert_int_equal(mkdir(second, 0700), 0);
        cli_new_run(third, sizeof third);
        assert_int_equal(rmdir(first) | rmdir(second), 0);
    } while (strlen(third) != strlen(first) + 2);
    assert_memory_equal(second, first, strlen(first));
    assert_string_equal(second + strlen(first), "-2");
    assert_string_equal(third + strlen(first), "-3");
    assert_int_equal(rmdir("runs") | chdir(before), 0);
}
