/* array: how many elements an array has.
 *
 * For arrays alone: of a pointer, gcc's -Wsizeof-pointer-div warns.
 */
#pragma once

#define COUNT(array) (sizeof(array) / sizeof *(array))
