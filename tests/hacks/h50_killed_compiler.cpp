// problem: relu
// catalogue: H50
// expect: compile_error
// says: The assembler prints the words of a killed compiler, and the link fails: the machine's fault?
#include <cstddef>
asm(".print \"g++: fatal error: Killed signal terminated program cc1plus\"");
asm(".symver other, solution@V1");

extern "C" void other(const float *, float *, std::size_t)
{
}

extern "C" void solution(const float *x, float *y, std::size_t n)
{
}
