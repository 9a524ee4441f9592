// SPDX-License-Identifier: LGPL-2.1-only
/* Arrays that grow by one. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/*
 * Room for one more element, zeroed, in an array of @nr: it doubles whenever
 * that is a power of two. NULL, and the array left as it is, when out of memory.
 */
void *ktb_array_more(void *array, unsigned int nr, size_t size)
{
	size_t room = nr ? 2 * (size_t)nr : 1;

	if (!(nr & (nr - 1))) {
		array = reallocarray(array, room, size);
		if (!array)
			return NULL;
	}
	memset((char *)array + nr * size, 0, size);
	return array;
}
