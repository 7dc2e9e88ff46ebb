#include "../support/fake_cuda.h"
#include "device/optional_libraries.h"

#include "../support/test.h"
#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char *place;

FIXTURE(setup)
{
    place = support_directory();
    return 0;
}

/* PLACE/FOLDER/NAME leads to `library`. */
static void put(const char *folder, const char *name, const char *library)
{
    struct err err;
    char *directory = support_text("%s/%s", place, folder);
    char *path = support_text("%s/%s", directory, name);
    assert_ok(file_make_directories(directory, 0755, &err), &err);
    assert_int_equal(symlink(library, path), 0);
}

TEST_GROUP(fake_cuda_find, NULL);
TEST_EACH(setup, NULL);

/* Where a toolkit keeps them, and where pip does. */
TEST(around_programs)
{
    struct optional_library found[OPTIONAL_COUNT];
    char *fake = support_text("%.*s/optional_library.so",
                              (int)(strrchr(fake_cuda, '/') - fake_cuda), fake_cuda);
    char *nvcc = support_text("%s/toolkit/bin/nvcc", place);
    char *python = support_text("%s/venv/bin/python3", place);
    put("toolkit/bin", "nvcc", "/bin/true");
    put("toolkit/lib64", "libnvrtc.so.12", fake);
    put("toolkit/extras/CUPTI/lib64", "libcupti.so.13", fake);
    put("venv/bin", "python3", "/bin/true");
    put("venv/lib/python3.12/site-packages/nvidia/cu13/lib", "libcublasLt.so.13", fake);
    optional_libraries_find(found, nvcc, python);
    static const char *const versions[] = {"12.9", "130001", "130100"};
    for (int i = 0; i < OPTIONAL_COUNT; i++) {
        assert_string_equal(found[i].version, versions[i]);
        assert_int_equal(strncmp(found[i].path, place, strlen(place)), 0);
    }
    assert_string_equal(found[OPTIONAL_CUBLASLT].name, "cublaslt");
}

/* A library of that name without the function is not the one; nothing is no crash. */
TEST(another_of_that_name)
{
    struct optional_library found[OPTIONAL_COUNT];
    char *nvcc = support_text("%s/bin/nvcc", place);
    put("lib64", "libnvrtc.so.13", fake_cuda);
    optional_libraries_find(found, nvcc, NULL);
    assert_true(strncmp(found[OPTIONAL_NVRTC].path, place, strlen(place)) != 0);
    optional_libraries_find(found, NULL, "python3");
    assert_string_equal(found[OPTIONAL_NVRTC].name, "nvrtc");
}
