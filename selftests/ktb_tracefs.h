/* SPDX-License-Identifier: GPL-2.0-only */
/* What tracefs says of an event: the truth that records are measured by. */
#ifndef KTB_TRACEFS_H
#define KTB_TRACEFS_H

#include <stdbool.h>
#include <linux/types.h>

#define KTB_TRACEFS	"/sys/kernel/tracing"
#define KTB_MAX_FIELDS	64

struct ktb_field {
	char name[48];
	unsigned int offset;
	unsigned int size;
	bool data_loc;
};

struct ktb_format {
	__u32 id;
	int nfields;
	struct ktb_field field[KTB_MAX_FIELDS];
};

/* Read events/<system>/<event>/format of "system:event". 0 or negative error. */
int ktb_format_read(const char *event, struct ktb_format *f);
/* The field of that name, NULL if there is none. */
const struct ktb_field *ktb_format_field(const struct ktb_format *f, const char *name);
/* Its value in a raw record, integers up to 8 bytes. */
__u64 ktb_field_uint(const struct ktb_format *f, const char *name, const char *raw);
/*
 * The number of the call in a raw record of raw_syscalls:sys_enter, or of an entry
 * of syscalls: where it stands depends on the kernel's common fields.
 */
__u64 ktb_syscall_nr(const char *raw);
/* First byte after the fixed fields. */
unsigned int ktb_format_end(const struct ktb_format *f);

#endif
