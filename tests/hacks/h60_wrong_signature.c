// problem: row_sum
// catalogue: H60
// expect: wrong|runtime_error|compile_error|load_error
// says: Exports data under the name of the entry point.
const float solution[64] = {1, 2, 3};
