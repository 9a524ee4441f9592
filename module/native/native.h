/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_NATIVE_H
#define _KTB_NATIVE_H

#include <linux/compiler.h>

/**
 * struct ktb_native - a tracepoint event with a probe of our own
 * @name: "system:event"
 * @probe: ktb_trace_<class>()
 * @size: bytes of the record's fixed part, common fields included
 */
struct ktb_native {
	const char *name;
	void *probe;
	unsigned int size;
};

/*
 * The table of all is a section of the module: every object of this directory
 * adds its own entries, the linker puts them in a row, and in the order of
 * Kbuild native.o is the first of them and native_end.o the last. The alignment
 * is asked for, lest the compiler choose a larger one.
 */
#define KTB_NATIVE_ENTRY						\
	__used __section("ktb_native_table") __aligned(__alignof__(struct ktb_native))

extern const struct ktb_native ktb_natives[];
extern const struct ktb_native ktb_natives_end[];

#define ktb_native_for_each(native)					\
	for (native = ktb_natives; native < ktb_natives_end; native++)

const struct ktb_native *ktb_native_find(const char *name);

#endif /* _KTB_NATIVE_H */
