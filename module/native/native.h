/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_NATIVE_H
#define _KTB_NATIVE_H

#include <linux/init.h>
#include <linux/list.h>
#include <linux/types.h>

/**
 * struct ktb_native - a tracepoint event with a probe of our own
 * @node: in the list of all
 * @name: "system:event"
 * @probe: ktb_trace_<class>()
 * @size: bytes of the record's fixed part, common fields included
 */
struct ktb_native {
	struct list_head node;
	const char *name;
	void *probe;
	unsigned int size;
};

extern struct list_head ktb_natives;

/* One function per header, which adds its events. */
#define KTB_NATIVE(header) void ktb_native_list_##header(void);
#include "headers.h"
#undef KTB_NATIVE

void ktb_native_init(void);
void ktb_native_add(struct ktb_native *native);
const struct ktb_native *ktb_native_find(const char *name);

#endif /* _KTB_NATIVE_H */
