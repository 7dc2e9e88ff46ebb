#include "judge/child/tensor_memory.h"

#include "base/array.h"
#include "judge/child/blocks.h"

#include <elf.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE_BYTES ((size_t)2 << 20)
#define TAKEN_BYTES BLOCKS_KEPT_BYTES  /* poison in what is taken, at the most, */
#define FREED_BYTES ((size_t)64 << 20) /* and in what is freed */

#if defined __x86_64__
#define IS_IMPORT(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined __aarch64__
#define IS_IMPORT(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#else
#define IS_IMPORT(type) false
#endif

static atomic_bool is_call, poisons;

static int take(void **memory, size_t alignment, size_t bytes)
{
    bool large = is_call && bytes >= LARGE_BYTES && alignment <= BLOCK_ALIGNMENT;
    void *block = large ? block_take(bytes) : NULL;
    int result = block ? 0 : posix_memalign(memory, alignment, bytes);
    if (block)
        *memory = block;
    if (result == 0 && poisons)
        memset(*memory, BLOCK_POISON, bytes < TAKEN_BYTES ? bytes : TAKEN_BYTES);
    return result;
}

/* What is freed between calls and is no block may be large, and of no call: an input, say. */
static void give(void *memory)
{
    if (!memory || block_free(memory, is_call ? 0 : FREED_BYTES))
        return;
    size_t bytes = is_call ? 0 : malloc_usable_size(memory);
    if (bytes < LARGE_BYTES)
        memset(memory, BLOCK_POISON, bytes);
    free(memory);
}

/* What the library imports, and where it has the addresses: one for calls, one for its own use as a
 * pointer. */
#define USES 4
static struct import {
    const char *name;
    void *instead;
    void **at[USES];
    size_t count;
} imports[] = {
    {"posix_memalign", (void *)(uintptr_t)take, {NULL}, 0},
    {"free", (void *)(uintptr_t)give, {NULL}, 0},
};

/* What the loader has made read-only: whole pages. */
static struct {
    uintptr_t start, end;
} sealed;

/* In one table of relocations; `of`: the dynamic section. */
static void find_imports(const struct dl_phdr_info *library, const ElfW(Xword) of[DT_NUM],
                         unsigned table, unsigned table_bytes)
{
    const ElfW(Rela) *relocations = (const ElfW(Rela) *)of[table];
    const ElfW(Sym) *symbols = (const ElfW(Sym) *)of[DT_SYMTAB];
    for (size_t i = 0; relocations && i < of[table_bytes] / sizeof *relocations; i++) {
        const ElfW(Rela) *one = &relocations[i];
        if (!IS_IMPORT(ELF64_R_TYPE(one->r_info)))
            continue;
        const char *name = (const char *)of[DT_STRTAB] + symbols[ELF64_R_SYM(one->r_info)].st_name;
        for (size_t k = 0; k < COUNT(imports); k++)
            if (strcmp(name, imports[k].name) == 0 && imports[k].count < USES)
                imports[k].at[imports[k].count++] = (void **)(library->dlpi_addr + one->r_offset);
    }
}

static const ElfW(Phdr) * segment_of(const struct dl_phdr_info *library, uint32_t type)
{
    for (size_t i = 0; i < library->dlpi_phnum; i++)
        if (library->dlpi_phdr[i].p_type == type)
            return &library->dlpi_phdr[i];
    return NULL;
}

static void find_sealed(const struct dl_phdr_info *library)
{
    const ElfW(Phdr) *relro = segment_of(library, PT_GNU_RELRO);
    uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (!relro)
        return;
    sealed.start = (library->dlpi_addr + relro->p_vaddr) / page_bytes * page_bytes;
    sealed.end = (library->dlpi_addr + relro->p_vaddr + relro->p_memsz) / page_bytes * page_bytes;
}

/* Of dl_iterate_phdr: 1 ends it. */
static int look_at_library(struct dl_phdr_info *library, size_t size, void *ignored)
{
    (void)size, (void)ignored;
    const char *slash = strrchr(library->dlpi_name, '/');
    const ElfW(Phdr) *dynamic = segment_of(library, PT_DYNAMIC);
    if (!slash || strcmp(slash, "/libc10.so") != 0 || !dynamic)
        return 0;
    ElfW(Xword) of[DT_NUM] = {0}; /* by tag; glibc has added where the library lies */
    const ElfW(Dyn) *entry = (const ElfW(Dyn) *)(library->dlpi_addr + dynamic->p_vaddr);
    for (; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag > 0 && entry->d_tag < DT_NUM)
            of[entry->d_tag] = entry->d_un.d_val;
    if (!of[DT_SYMTAB] || !of[DT_STRTAB])
        return 1;
    find_imports(library, of, DT_JMPREL, DT_PLTRELSZ);
    find_imports(library, of, DT_RELA, DT_RELASZ);
    find_sealed(library);
    return 1;
}

static int replace(void **at, void *instead)
{
    uintptr_t address = (uintptr_t)at;
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)(address / page_bytes * page_bytes);
    bool is_sealed = address >= sealed.start && address < sealed.end;
    if (is_sealed && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) < 0)
        return -1;
    *at = instead;
    return is_sealed ? mprotect(page, page_bytes, PROT_READ) : 0;
}

int tensor_memory_open(void)
{
    dl_iterate_phdr(look_at_library, NULL);
    for (size_t i = 0; i < COUNT(imports); i++)
        if (imports[i].count == 0 || imports[i].count == USES)
            return -1;
    /* `free` first: with it alone nothing changes. */
    for (size_t i = COUNT(imports); i-- > 0;)
        for (size_t use = 0; use < imports[i].count; use++)
            if (replace(imports[i].at[use], imports[i].instead) < 0)
                return -1;
    return 0;
}

void tensor_memory_begin(bool poison)
{
    is_call = true;
    poisons = poison;
}

void tensor_memory_end(void)
{
    is_call = poisons = false;
}
