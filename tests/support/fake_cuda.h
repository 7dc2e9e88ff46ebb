/* fake_cuda: the driver without a GPU (tests/fake/cuda.c), for tests of what calls it. */
#ifndef WARPGYM_TESTS_FAKE_CUDA_H
#define WARPGYM_TESTS_FAKE_CUDA_H

extern char fake_cuda[]; /* its library, once fake_cuda_find has run */

/* Group set-up; not 0: it was not built. */
int fake_cuda_find(void **state);
/* Teardown: what FAKE_CUDA_… asked of it is forgotten. */
int fake_cuda_clean(void **state);

#endif
