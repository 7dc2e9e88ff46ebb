/* tinker_fields: the messages of the Tinker protocol that are protocol buffers, by field number
 * (package tinker_public; from the descriptor in the SDK 0.38). The client (policy/tinker_proto)
 * and the server (server/tinker) read and write them by these tables. Numbers in arrays are
 * little-endian: tokens of 4 bytes, ids in tensors of 4 or 8, offsets of 8.
 */
#pragma once

/* ForwardBackwardRequest; CONFIG maps to a double, CONFIG_2 to a LossConfigValue. */
enum { REQUEST_MODEL = 1, REQUEST_NUMBER, REQUEST_DATA, REQUEST_LOSS, REQUEST_CONFIG };
enum { REQUEST_FORWARD_ONLY = 6, REQUEST_CONFIG_2, CONFIG_NUMBER = 1, CONFIG_TEXT };
/* Datum, Chunk, EncodedTextChunk, Tensor, SparseCsr, an entry of a map. */
enum { DATUM_INPUT = 1, DATUM_ARRAYS, CHUNK_TEXT = 1, TEXT_TOKENS = 1 };
enum { TENSOR_DENSE = 1, TENSOR_SPARSE, TENSOR_TYPE, TENSOR_SHAPE };
enum { SPARSE_VALUES = 1, SPARSE_ROWS, SPARSE_COLUMNS, ENTRY_KEY = 1, ENTRY_VALUE };
/* DType. */
enum { TYPE_FLOAT32 = 1, TYPE_INT64, TYPE_INT32, TYPE_BFLOAT16 };
/* ForwardBackwardOutput, ArrayRecord, BatchedTensor (offsets are of bytes). */
enum { OUTPUT_TYPE = 1, OUTPUT_RECORDS, OUTPUT_METRICS };
enum { RECORD_TYPE = 1, RECORD_FIELDS, RECORD_COUNT };
enum { BATCHED_DATA = 1, BATCHED_OFFSETS, BATCHED_TYPE, BATCHED_SHAPE };
/* SampleResponse, SampledSequence, TopkLogprobs. */
enum { RESPONSE_SEQUENCES = 1, RESPONSE_PROMPT, RESPONSE_PROMPT_TOP };
enum { SEQUENCE_REASON = 1, SEQUENCE_TOKENS, SEQUENCE_LOGPROBS, SEQUENCE_TOP };
enum { TOP_TOKENS = 1, TOP_LOGPROBS, TOP_WIDTH, TOP_LENGTH };
/* StopReason. */
enum { REASON_STOP, REASON_LENGTH };
