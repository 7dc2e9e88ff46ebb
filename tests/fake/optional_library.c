/* Stands in for NVRTC, CUPTI and cuBLASLt, which device/optional_libraries.h asks for their
 * versions. */
#include <stddef.h>
#include <stdint.h>

int nvrtcVersion(int *major, int *minor);
int cuptiGetVersion(uint32_t *version);
size_t cublasLtGetVersion(void);

int nvrtcVersion(int *major, int *minor)
{
    *major = 12;
    *minor = 9;
    return 0;
}

int cuptiGetVersion(uint32_t *version)
{
    *version = 130001;
    return 0;
}

size_t cublasLtGetVersion(void)
{
    return 130100;
}
