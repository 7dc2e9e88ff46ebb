/* tensor_memory: where the large tensors of calls lie on a CPU.
 *
 * By itself the C library decides from what a process freed before whether large memory is memory
 * that it has kept or is mapped anew, and the kernel clears new pages on the clock. A reference
 * frees inputs and answers in double precision, too: a candidate with its own text and a temporary
 * of 85 MB mapped it in each call, where the reference never did, and took up to ten times as long.
 *
 * So PyTorch's allocator gets blocks.h's memory for tensors of 2 MiB and more that a call makes,
 * and what else a process does with memory cannot change what a call costs. PyTorch has no setting
 * for that: the two functions that its libc10.so imports, posix_memalign and free, are replaced
 * where they are imported, for that library alone. What other code allocates is the C library's.
 *
 * A part of an answer that a candidate leaves out is memory as it was: what an earlier answer left
 * there, or zeros, which the kernel gives and which may be right. So calls that are not timed get
 * poison in all memory that they take. Timed ones get it in what is freed between them, the last
 * answers.
 *
 * Threads: tensor_memory_open before there is a second one, the others any.
 */
#pragma once

#include <stdbool.h>

/* With PyTorch loaded. 0; -1: this PyTorch takes its memory in another way; nothing has changed. */
int tensor_memory_open(void);
/* What is made from now on is a call's, and stays one. `poison`: before it is given out. */
void tensor_memory_begin(bool poison);
/* The call is over. */
void tensor_memory_end(void);
