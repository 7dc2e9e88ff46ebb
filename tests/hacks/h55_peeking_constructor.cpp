// problem: row_sum
// catalogue: H55
// expect: wrong|runtime_error|violation
// says: A static object's constructor maps what is open and reads the environment, and looks for sums there.
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <vector>

extern char **environ;

// Whatever there is when the object is loaded: descriptors, environment, files beside it.
struct peeker {
    std::vector<std::pair<const float *, std::size_t>> views;
    std::string words;

    peeker()
    {
        for (int fd = 0; fd < 1024; fd++) {
            struct stat status;
            if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < 4096)
                continue;
            const auto bytes = static_cast<std::size_t>(status.st_size);
            void *data = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
            if (data != MAP_FAILED)
                views.emplace_back(static_cast<const float *>(data), bytes / sizeof(float));
        }
        for (char **word = environ; word && *word; word++)
            words += *word;
    }
};

static peeker peeked;

extern "C" void solution(const float *x, float *y, std::size_t rows, std::size_t cols)
{
    double first = 0;
    for (std::size_t j = 0; j < cols; j++)
        first += x[j];
    if (peeked.words.find("seed") != std::string::npos)
        y[0] = static_cast<float>(first);
    for (auto [data, count] : peeked.views)
        for (std::size_t i = 0; i + rows <= count; i += 16)
            if (std::fabs(data[i] - first) <= 1e-5 * std::fabs(first)) {
                std::memcpy(y, data + i, rows * sizeof *y);
                return;
            }
}
