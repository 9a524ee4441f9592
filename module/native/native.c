// SPDX-License-Identifier: GPL-2.0-only
/*
 * The native events: those with a probe of our own. The table is constant:
 * readers need no lock.
 */

#include <linux/string.h>

#include "native.h"

/* The beginning of the table; what is in it follows from other objects. */
const struct ktb_native ktb_natives[] KTB_NATIVE_ENTRY = {};

/**
 * ktb_native_find - the native event of a name
 * @name: "system:event"
 *
 * Any context.
 *
 * Return: the event, or NULL.
 */
const struct ktb_native *ktb_native_find(const char *name)
{
	const struct ktb_native *native;

	ktb_native_for_each(native)
		if (!strcmp(native->name, name))
			return native;
	return NULL;
}
