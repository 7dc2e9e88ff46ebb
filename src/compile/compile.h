/* compile: source text in, shared object out.
 *
 *   source ──► key = SHA-256(text, role, toolchain identity, flags, CPU) ──► cache hit: path
 *                                     └─ miss ──► scratch dir ─ runner ─► cc ─► size check ─► cache
 *
 * The toolchain runs through the caller's runner (a sandbox, for every untrusted source) with a
 * fixed command line; nothing in the source can add a flag. Results are published by rename, so
 * concurrent processes share one cache: the first to finish wins, both get the same bytes. Failures
 * are cached too (a training run asks for the same broken text again and again), timeouts and
 * infrastructure failures are not. A full disk costs the cache entry, not the compile.
 */
#pragma once

#include "base/err.h"
#include "base/hash.h"
#include "base/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What there is to compile with on this machine. */
struct toolchain {
    char *cc;         /* absolute path, or NULL: no C compiler here */
    char *cc_version; /* first line of --version: part of the cache key */
    char *cxx;        /* of C++, likewise */
    char *cxx_version;
    char *nvcc; /* absolute path, or NULL */
    char *nvcc_version;
    char *nvrtc;           /* the library, by its real path, or NULL: toolchain_find_nvrtc */
    char **nvrtc_includes; /* NULL-terminated directories of headers that belong to it, or NULL */
    char *cpu;             /* what -march=native means here: part of the cache key */
    char **readable;       /* NULL-terminated paths that the compilers need to read */
    char *root; /* bundled toolchain that a sandbox mounts as /usr (make dist), or NULL */
};

/* Finds compilers: WARPGYM_CC, WARPGYM_CXX and WARPGYM_NVCC, then PATH, then `bundled` (may be
 * NULL). A C++ compiler of the C compiler's kind, beside it, comes first. A missing compiler is no
 * error here. */
void toolchain_init(struct toolchain *toolchain, const char *bundled);
/* Looks for NVRTC (device/nvrtc.h): `named`, else beside nvcc, in a toolkit, among the packages of
 * `python`; each may be NULL or "". */
void toolchain_find_nvrtc(struct toolchain *toolchain, const char *named, const char *python);
void toolchain_deinit(struct toolchain *toolchain);

enum compile_kind {
    COMPILE_C,        /* a candidate, or a reference as candidates are compiled */
    COMPILE_C_DOUBLE, /* a reference at double precision: the oracle */
    COMPILE_CPP,      /* a candidate in C++ */
    COMPILE_CUDA,     /* host and device code, through nvcc */
    COMPILE_CUBIN,    /* device code alone, for the driver to load: through NVRTC where there is
                         one (the runner has to have it loaded), else through nvcc */
};

/* Whether there is a compiler for it. ERR_MISSING: there is none, and what to install. */
NODISCARD int toolchain_has(const struct toolchain *toolchain, enum compile_kind kind,
                            struct err *err);
/* Whether the C compiler makes it, without which no native reference can be built, either. */
bool compile_needs_cc(enum compile_kind kind);

struct compile_request {
    enum compile_kind kind;
    const char *name; /* how diagnostics name the file: "softmax.c" */
    const char *text;
    size_t text_bytes;
    const char *architecture; /* of CUDA: "90a"; NULL: "90" */
    int64_t timeout_ms;
    uint64_t memory_bytes;
    uint64_t cache_max_bytes; /* entries beyond it are removed now and then; 0: 2 GiB */
};

struct artifact {
    bool ok;        /* false: `diagnostics` says why */
    bool timed_out; /* with ok == false */
    bool cached;
    char *path;          /* of the shared object in the cache or in scratch; NULL unless ok */
    bool owned;          /* path lies in scratch (the cache could not take it): removed by deinit */
    char *diagnostics;   /* bounded; lines name `name`, nothing of our paths; "" when clean */
    char *cache_problem; /* why the cache could not take the result; NULL: it could, or is off */
    double elapsed_ms;   /* of this call, */
    double waited_ms;    /* and of these, until the compiler could run */
    char key[HASH_HEX_BYTES];
};

/* 0: `artifact` holds the outcome. Negative: the toolchain is missing (ERR_MISSING) or the machine
 * failed (ERR_IO …): the candidate is not to blame. `cache_directory` NULL or "": no cache. */
NODISCARD int compile_source(const struct toolchain *toolchain, struct runner *runner,
                             const char *cache_directory, const struct compile_request *request,
                             struct artifact *artifact, struct err *err);
void artifact_deinit(struct artifact *artifact);
