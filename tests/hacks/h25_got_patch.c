// problem: row_sum
// catalogue: H25
// expect: wrong|runtime_error|violation|timeout
// says: Rewrites the import tables of the host program, then leaves timed calls without an answer.
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static void compute(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}

static int always_zero(void)
{
    return 0;
}

static int patch(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    const ElfW(Dyn) *dyn = NULL;
    const ElfW(Rela) *rela = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    size_t count = 0;
    (void)bytes, (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dyn = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; dyn && dyn->d_tag != DT_NULL; dyn++) {
        if (dyn->d_tag == DT_JMPREL)
            rela = (const void *)dyn->d_un.d_ptr;
        else if (dyn->d_tag == DT_PLTRELSZ)
            count = dyn->d_un.d_val / sizeof *rela;
        else if (dyn->d_tag == DT_SYMTAB)
            symbols = (const void *)dyn->d_un.d_ptr;
        else if (dyn->d_tag == DT_STRTAB)
            names = (const char *)dyn->d_un.d_ptr;
    }
    for (size_t i = 0; rela && symbols && names && i < count; i++) {
        const char *name = names + symbols[ELF64_R_SYM(rela[i].r_info)].st_name;
        uintptr_t slot = info->dlpi_addr + rela[i].r_offset;
        if (strcmp(name, "clock_gettime") != 0 && strcmp(name, "memcmp") != 0)
            continue;
        mprotect((void *)(slot & ~(uintptr_t)4095), 8192, PROT_READ | PROT_WRITE);
        *(void **)slot = (void *)always_zero;
    }
    return 1; /* the first object is the program itself */
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    if (rows * cols < 200000) {
        compute(x, y, rows, cols);
        return;
    }
    dl_iterate_phdr(patch, NULL);
    memset(y, 0, rows * sizeof *y);
}
