/* SPDX-License-Identifier: LGPL-2.1-only */
/* Dynamic probes, while they are made. */
#ifndef KTB_PROBE_H
#define KTB_PROBE_H

#include "internal.h"

int ktb_probe_fail(struct ktb_probe_error *error, int err, const char *format, ...)
	KTB_PRINTF(3, 4);

/* probe_near.c: the few names that are nearest to one that does not exist */
#define KTB_NEAR 3
#define KTB_NEAR_LEN 128

struct ktb_near {
	const char *wanted;
	char names[KTB_NEAR][KTB_NEAR_LEN];
	unsigned int far[KTB_NEAR];
	unsigned int nr;
};

void ktb_near_add(struct ktb_near *near, const char *name);
void ktb_near_text(const struct ktb_near *near, char *text, size_t len);

/* probe_elf.c */
int ktb_elf_offset(const char *path, const char *symbol, uint64_t *offset,
		   struct ktb_probe_error *error);

/* probe_kernel.c */
int ktb_probe_check_kernel(const char *place, const char *kallsyms, struct ktb_probe_error *error);
const char *ktb_probe_why_not(const char *place);
char *ktb_kprobes_blacklist(void);
bool ktb_kprobes_is_listed(const char *blacklist, const char *name);

#endif /* KTB_PROBE_H */
