#include "device/cupti.h"

#include "../support/test.h"
#include "base/file.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char *scratch;

static void touch(const char *path)
{
    char whole[256];
    snprintf(whole, sizeof whole, "%s/%s", scratch, path);
    *strrchr(whole, '/') = '\0';
    assert_int_equal(file_make_directories(whole, 0755, NULL), 0);
    snprintf(whole, sizeof whole, "%s/%s", scratch, path);
    close(open(whole, O_CREAT | O_WRONLY | O_CLOEXEC, 0755));
}

static const struct {
    const char *nvcc, *library; /* NULL: none, or not found */
} rows[] = {
    {NULL, NULL},
    {"none/bin/nvcc", NULL},
    {"gone/bin/nvcc", NULL}, /* is not there itself */
    {"new/bin/nvcc", "new/lib64/libcupti.so.13"},
    {"old/bin/nvcc", "old/extras/CUPTI/lib64/libcupti.so.12"},
    {"both/bin/nvcc", "both/targets/x86_64-linux/lib/libcupti.so.13"},
    {"link/bin/nvcc", "new/lib64/libcupti.so.13"},
};

TEST(places)
{
    scratch = support_directory();
    touch("none/bin/nvcc");
    touch("new/bin/nvcc");
    touch("new/lib64/libcupti.so.13");
    touch("old/bin/nvcc");
    touch("old/extras/CUPTI/lib64/libcupti.so.12");
    touch("both/bin/nvcc");
    touch("both/lib64/libcupti.so.12");
    touch("both/targets/x86_64-linux/lib/libcupti.so.13");
    char link[256];
    snprintf(link, sizeof link, "%s/link", scratch);
    assert_int_equal(symlink("new", link), 0);
    for (size_t i = 0; i < COUNT(rows); i++) {
        char nvcc[256];
        char library[256];
        snprintf(nvcc, sizeof nvcc, "%s/%s", scratch, rows[i].nvcc ? rows[i].nvcc : "");
        snprintf(library, sizeof library, "%s/%s", scratch, rows[i].library ? rows[i].library : "");
        char *found = cupti_find(rows[i].nvcc ? nvcc : NULL);
        char *real = found ? realpath(found, NULL) : NULL;
        if (!found != !rows[i].library || (found && strcmp(real, library) != 0))
            fail_msg("row %zu: %s", i, found ? found : "nothing");
        free(real);
        mem_free(found);
    }
}
