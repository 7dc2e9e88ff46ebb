/* array: how many elements an array has.
 *
 * For arrays alone: of a pointer, gcc's -Wsizeof-pointer-div warns.
 */
#ifndef WARPGYM_BASE_ARRAY_H
#define WARPGYM_BASE_ARRAY_H

#define COUNT(array) (sizeof(array) / sizeof *(array))

#endif
