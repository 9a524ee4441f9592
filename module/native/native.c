// SPDX-License-Identifier: GPL-2.0-only
/*
 * The native events: those with a probe of our own. Made once at load, never
 * changed: readers need no lock.
 */

#include <linux/string.h>

#include "native.h"

LIST_HEAD(ktb_natives);

void __init ktb_native_add(struct ktb_native *native)
{
	list_add_tail(&native->node, &ktb_natives);
}

void __init ktb_native_init(void)
{
#define KTB_NATIVE(header) ktb_native_list_##header();
#include "headers.h"
#undef KTB_NATIVE
}

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

	list_for_each_entry(native, &ktb_natives, node)
		if (!strcmp(native->name, name))
			return native;
	return NULL;
}
