/* limits: every bound on what a client may send or a process may consume, in one place.
 * A limit that a user may want to change is a setting (settings.h); these are the ceilings. */
#pragma once

#define LIMIT_SOURCE_BYTES ((size_t)1 << 20)       /* one candidate or reference source */
#define LIMIT_PTX_BYTES ((size_t)8 << 20)          /* what Triton makes of one kernel */
#define LIMIT_YAML_BYTES ((size_t)256 << 10)       /* one problem.yaml or settings file */
#define LIMIT_JSONL_LINE_BYTES ((size_t)4 << 20)   /* one line of a batch */
#define LIMIT_ARTIFACT_BYTES ((size_t)64 << 20)    /* one compiled shared object */
#define LIMIT_DIAGNOSTICS_BYTES ((size_t)64 << 10) /* what a compiler may print */
#define LIMIT_TRACE_BYTES ((size_t)16 << 20)       /* one launch trace */
#define LIMIT_ARGUMENTS 24                         /* arguments of a native problem */
#define LIMIT_LANGUAGES 32                         /* from outside */
#define LIMIT_LANGUAGE_WORDS 64                    /* of a list in a language's file */
#define LIMIT_SIZES 8                              /* size names of a native problem */
#define LIMIT_SIZE_SETS 16                         /* rows under check:, time: or draw: */
#define LIMIT_DIMENSIONS 8                         /* dimensions of one tensor */
#define LIMIT_NAME_BYTES 128
#define LIMIT_EXPRESSION_BYTES 256
#define LIMIT_EXPRESSION_DEPTH 32
#define LIMIT_TENSOR_BYTES ((uint64_t)16 << 30)   /* one argument */
#define LIMIT_QUEUE_BODY_BYTES ((size_t)16 << 20) /* payload or result of one job, one document */
#define LIMIT_QUEUE_PUT_BYTES ((size_t)64 << 20)  /* all payloads of one put */
#define LIMIT_QUEUE_PUT_JOBS 10000                /* jobs of one put */
#define LIMIT_QUEUE_LIST_JOBS 1000                /* jobs of one page */
#define LIMIT_QUEUE_REGISTRATION_BYTES ((size_t)64 << 10) /* one note on the board */
#define LIMIT_QUEUE_REGISTRATIONS 1000
#define LIMIT_QUEUE_DOCUMENT_MS ((int64_t)366 * 86400000) /* how long one document is kept */
#define LIMIT_QUEUE_URL_BYTES 4096
#define LIMIT_REDIS_ELEMENTS 100000 /* of an array in a reply; hiredis believes any count */
#define LIMIT_HTTP_TARGET_BYTES ((size_t)8 << 10)  /* path and query of a request */
#define LIMIT_HTTP_HEADER_BYTES ((size_t)16 << 10) /* request line and headers */
#define LIMIT_HTTP_HEADERS 100
#define LIMIT_HTTP_SEGMENTS 16                    /* of a path */
#define LIMIT_HTTP_QUERY 32                       /* names in a query */
#define LIMIT_MCP_MESSAGE_BYTES ((size_t)8 << 20) /* one message, or one batch of them */
#define LIMIT_MCP_ID_BYTES 256                    /* of a request */
#define LIMIT_MCP_BATCH 100                       /* messages of one batch */
#define LIMIT_MCP_CALLS 256                       /* that wait for a thread */
#define LIMIT_MCP_THREADS ((size_t)64)            /* of calls that judge */
#define LIMIT_MCP_SESSIONS 1000
#define LIMIT_MCP_HISTORY 256                /* submissions that a session remembers */
#define LIMIT_MCP_LIST 1000000               /* problems of a listing */
#define LIMIT_BATCH_JOBS 1000                /* evaluations of one batch */
#define LIMIT_WAIT_S 600                     /* of one long poll */
#define LIMIT_VIEWS_BYTES ((size_t)64 << 20) /* answers that a server remembers */
#define LIMIT_PAGE_BYTES ((size_t)32 << 20)  /* one page of a listing */
#define LIMIT_WEB_RUNS 1000                  /* in the folder of a dashboard */
#define LIMIT_WEB_OPEN_RUNS 16               /* whose metrics and turns are in memory */
#define LIMIT_WEB_STREAMS 64                 /* pages that follow runs */
#define LIMIT_WEB_METRICS 64                 /* of one answer */
#define LIMIT_WEB_POINTS 2000                /* buckets of a curve */
#define LIMIT_WEB_ROWS 500                   /* trajectories of one answer */
#define LIMIT_WEB_TURNS ((uint32_t)8000000)  /* of a run, in an index */
#define LIMIT_WEB_PROBLEMS ((uint32_t)100000)
#define LIMIT_WEB_VERDICTS ((uint64_t)2000000) /* of a queue, the newest, in a leaderboard */
#define LIMIT_WEB_GRID_ROWS 1000
#define LIMIT_WEB_GRID_COLUMNS 200
#define LIMIT_WEB_INDEX_BYTES ((uint64_t)256 << 20)     /* of traces, read for one request */
#define LIMIT_WEB_SEARCH_BYTES ((uint64_t)64 << 20)     /* likewise, searched for a text */
#define LIMIT_WEB_TRAJECTORY_BYTES ((uint64_t)64 << 20) /* lines of one trajectory */
#define LIMIT_FEED_EVENTS 16384                         /* events that wait for their listeners */
#define LIMIT_KNOWN_PROBLEMS 4096                       /* whose hashes a server remembers */
#define LIMIT_CLIENT_URL_BYTES 2048
#define LIMIT_CLIENT_TARGET_BYTES ((size_t)8 << 10)   /* path and query that a client asks for */
#define LIMIT_CLIENT_ANSWER_BYTES ((size_t)64 << 20)  /* one answer of a server */
#define LIMIT_TINKER_ARCHIVE_BYTES ((size_t)64 << 30) /* one adapter, unpacked */
#define LIMIT_TINKER_ARCHIVE_FILES 64
#define LIMIT_TINKER_NUMBERS ((size_t)1 << 27)      /* in the arrays of one pass, unpacked */
#define LIMIT_TINKER_BODY_BYTES ((size_t)64 << 20)  /* one request to a Tinker server */
#define LIMIT_CLIENT_ERROR_BYTES ((size_t)64 << 10) /* one error answer */
#define LIMIT_CLIENT_BATCH_BYTES ((size_t)8 << 20)  /* requests that are sent together */
#define LIMIT_CLIENT_BATCH_JOBS 100                 /* likewise; a server accepts 1000 */
#define LIMIT_METRIC_SERIES 128                     /* different label values of one metric */
#define LIMIT_CASES_BYTES ((size_t)16 << 20) /* what describes the cases of a simple problem */
#define LIMIT_JOB_ID_BYTES 255
#define LIMIT_EXAMPLE_REFERENCE_CHARS 50000 /* of one retrieved example; longer ones are left out */
#define LIMIT_EXAMPLE_SOLUTION_CHARS 100000
#define LIMIT_EXAMPLES 100                  /* of one answer */
#define LIMIT_EMBEDDED_BYTES ((size_t)8000) /* of a text that a model is asked to embed */
#define LIMIT_EMBEDDING_DIMENSION 16384
#define LIMIT_EMBEDDINGS_BYTES ((size_t)64 << 20) /* one answer with some of them */
#define LIMIT_ANSWER_BYTES ((size_t)4 << 20)      /* one answer of a model */
#define LIMIT_STREAM_BYTES ((size_t)256 << 20)    /* the same as it comes over the wire */
#define LIMIT_EVENT_BYTES ((size_t)32 << 20)      /* one event of that */
#define LIMIT_TFEVENT_BYTES ((size_t)16 << 20)    /* one entry of an event file */
#define LIMIT_MODELS 10000                        /* that an endpoint lists */
#define LIMIT_SCRIPT_BYTES ((size_t)64 << 20)     /* a script of answers, and all its files */
#define LIMIT_SCRIPT_LINES 100000
#define LIMIT_PROMPT_BYTES ((size_t)16 << 20) /* one conversation */
#define LIMIT_TURNS 1024                      /* of an episode, in all its iterations */
#define LIMIT_EPISODE_ID_BYTES 128
#define LIMIT_JOURNAL_LINE_BYTES ((size_t)64 << 20)
#define LIMIT_TRAJECTORY_BYTES ((size_t)64 << 20)  /* one line of trajectories.jsonl */
#define LIMIT_REPORT_BYTES ((size_t)256 << 20)     /* a report, in any form */
#define LIMIT_REPORT_TEXT_BYTES ((size_t)64 << 10) /* one untrusted text on its page */
#define LIMIT_TRAJECTORIES 1000000                 /* of one report */
#define LIMIT_NOTES_BYTES ((size_t)16 << 10)       /* metadata that a request stores with its job */
#define LIMIT_EVALUATION_MS ((int64_t)86400000)    /* longest time limit of one evaluation */
#define LIMIT_TEMPLATE_BYTES ((size_t)256 << 10)   /* one template, or one example of a prompt */
#define LIMIT_TEMPLATE_WORK_BYTES ((size_t)16 << 20) /* of template that a rendering goes through */
#define LIMIT_TEMPLATES 1024                         /* files in a directory of prompts */
#define LIMIT_EVALUATION_STANDARD_MS ((int64_t)300000) /* default of a request */
#define LIMIT_LM_EMBEDDED_TOKENS 8192                  /* of a text that is embedded */
#define LIMIT_LM_CHOICES 512                           /* of one request over HTTP */
#define LIMIT_LM_LISTED (1 << 21) /* log-probabilities that one answer lists: about 1 GB of JSON */
#define LIMIT_CORPUS_BYTES ((size_t)2 << 30)       /* what one tokenizer is learned from */
#define LIMIT_LM_LEARNED_VOCAB (1 << 20)           /* tokens of a tokenizer that is learned here */
#define LIMIT_LM_LEARNED_BYTES ((size_t)256 << 20) /* one tokenizer.json */
#define LIMIT_CHAT_TEMPLATE_BYTES ((size_t)1 << 20)
#define LIMIT_TOKENIZER_CONFIG_BYTES ((size_t)64 << 20) /* may list thousands of added tokens */
#define LIMIT_LM_TARGETS 1024                           /* of one row, for soft targets */
#define LIMIT_LM_STATE_BYTES ((size_t)16 << 20)         /* state.json of a checkpoint */
#define LIMIT_LM_METRICS_BYTES ((size_t)1 << 30)        /* metrics.jsonl of a run */
#define LIMIT_RUN_METRICS ((size_t)4096)                /* different names of them in a run */
#define LIMIT_RUN_CHECKPOINTS_BYTES ((size_t)256 << 20) /* checkpoints.jsonl of a run */
#define LIMIT_LM_STEPS ((uint64_t)100000000)            /* of a run */
#define LIMIT_LM_SAMPLES 65536                          /* of one prompt; sequences at once */
#define LIMIT_LM_STEP_ROWS 1048576                      /* tokens that one step computes */
#define LIMIT_LM_PAGE_POSITIONS 4096                    /* of a cache's page */
#define LIMIT_LM_CACHE_POSITIONS ((size_t)1 << 30)
#define LIMIT_LM_TEMPERATURE 1000.0
#define LIMIT_LM_STOP_BYTES 1024                   /* one stop string */
#define LIMIT_LM_STOP_TEXT_BYTES ((size_t)1 << 20) /* text that is held back for them */

#define LIMIT_LM_JSON_BYTES                                                                        \
    ((size_t)1 << 20) /* config.json, generation_config.json, adapter_config */
#define LIMIT_LM_SIDECAR_BYTES ((size_t)256 << 20) /* a tokenizer's file that goes with a model */
#define LIMIT_LM_VOCAB ((int64_t)1 << 24)
#define LIMIT_LM_WIDTH ((int64_t)1 << 17) /* of the model, and of all its heads together */
#define LIMIT_LM_INNER ((int64_t)1 << 20)
#define LIMIT_LM_LAYERS 4096
#define LIMIT_LM_HEADS 4096
#define LIMIT_LM_HEAD_WIDTH 1024
#define LIMIT_LM_POSITIONS ((int64_t)1 << 24)
#define LIMIT_LM_RANK 4096                                  /* of a LoRA adapter */
#define LIMIT_SAFETENSORS_HEADER_BYTES ((uint64_t)16 << 20) /* jansson takes 40 times that */
#define LIMIT_SAFETENSORS_INDEX_BYTES ((size_t)16 << 20)
#define LIMIT_SAFETENSORS_FILES 512 /* of a checkpoint; each is an open descriptor */
#define LIMIT_SAFETENSORS_NAME_BYTES 512
#define LIMIT_TOKENIZER_BYTES ((size_t)48 << 20) /* one tokenizer.json; Llama 3's has 17 MB */
#define LIMIT_TOKEN_IDS 2000000                  /* ids, and merges */
#define LIMIT_ADDED_TOKENS 65536
#define LIMIT_ADDED_TOKEN_BYTES 512
#define LIMIT_TOKENIZER_STEPS 16                      /* of a pre-tokenizer */
#define LIMIT_TOKENIZER_TEMPLATE 16                   /* tokens that are put before a text */
#define LIMIT_TOKENIZER_TEXT_BYTES ((size_t)64 << 20) /* encoded at once */
#define LIMIT_TOKENS_OF_TEXT ((size_t)1 << 30)
#define LIMIT_PATTERN_BYTES ((size_t)4 << 10)       /* of a tokenizer */
#define LIMIT_PATTERN_PCRE_BYTES ((size_t)64 << 10) /* the same, written out for PCRE2 */
#define LIMIT_PATTERN_STACK_BYTES ((size_t)8 << 20)
#define LIMIT_PATTERN_STEPS 100000 /* of one search, and 4 for each byte */
