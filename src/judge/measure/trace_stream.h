/* trace_stream: what libwarpgym_trace.so writes about one traced pass, and trace.c reads.
 *
 *   header, `sources` × source, `records` × record, `text_bytes` of text
 *
 * Plain bytes of one machine, no pointers. Names are offsets of NUL-terminated strings in the text;
 * offset 0 is "". A candidate's process wrote it: the reader bounds everything.
 */
#pragma once

#include <stdint.h>

#define TRACE_MAGIC 0x31637274u /* "trc1" */
#define TRACE_SOURCES 1024
#define TRACE_RECORDS 65536
#define TRACE_TEXT_BYTES (4u << 20)
#define TRACE_NAME_BYTES 512 /* of one kernel, as it is shown */

enum trace_kind { TRACE_KERNEL, TRACE_COPY, TRACE_SET, TRACE_KINDS };

/* Where code that ran came from. */
enum trace_origin {
    TRACE_UNKNOWN,   /* its loading was not seen, or two of that name were loaded */
    TRACE_LIBRARY,   /* part of the installation */
    TRACE_GENERATED, /* made by the installation's own compiler: torch.compile */
    TRACE_OWN,       /* the candidate's */
    TRACE_ORIGINS
};

/* How the origin of a source is known. */
enum trace_evidence {
    TRACE_BY_NOTHING,
    TRACE_BY_IMAGE,  /* the machine code lies in a file that is mapped: that file */
    TRACE_BY_LOADER, /* it was made at run time: by its loader */
    TRACE_BY_STACK,  /* its loading was not seen: by its first launch */
    TRACE_EVIDENCES
};

/* How a record's source is known. */
enum trace_match { TRACE_NO_MATCH, TRACE_MATCH_LAUNCH, TRACE_MATCH_NAME, TRACE_MATCHES };

struct trace_header {
    uint32_t magic;
    uint32_t cupti_version;
    uint32_t sources, records, text_bytes;
    uint32_t failed;           /* launches that the driver refused */
    uint64_t launches;         /* kernel launches that the driver was asked for */
    uint64_t lost;             /* records that there was no room for */
    uint64_t begin_ns, end_ns; /* of the pass, on the clock of the records */
};

struct trace_source {
    uint32_t origin, evidence;
    uint32_t object; /* text: file of the code or of its loader */
    uint32_t reserved;
};

struct trace_record {
    uint64_t start_ns, end_ns;
    uint64_t bytes;  /* copied or set */
    uint32_t kind;   /* enum trace_kind */
    uint32_t name;   /* text */
    uint32_t source; /* index */
    uint32_t match;  /* enum trace_match */
    uint32_t device, stream, correlation;
    uint32_t graph;        /* not 0: launched by this graph */
    uint32_t direction;    /* of a copy: CUPTI's number */
    uint32_t registers;    /* of a thread */
    uint32_t static_bytes; /* shared memory of a block */
    uint32_t dynamic_bytes;
    uint32_t local_bytes; /* of a thread */
    uint32_t grid[3], block[3];
    uint32_t reserved;
};
