/* SPDX-License-Identifier: GPL-2.0-only */
/* A perf.data file as its readers see it. */
#ifndef TESTS_PERFFILE_H
#define TESTS_PERFFILE_H

#include "perfdata.h"

/* The file's header, written down a second time: what readers go by. */
struct perffile_header {
	char magic[8];
	uint64_t size, attr_size;
	struct ktb_section attrs, data, event_types;
	uint64_t features[4];
};

/* The file looked at last, all of it. */
struct perffile {
	uint8_t *data;
	size_t len;
};

extern struct perffile perffile;

bool perffile_is_valid(const char *path);
const struct perffile_header *perffile_header(void);
const struct ktb_section *perffile_feature(unsigned int number);
int perffile_records(uint32_t type);
int perffile_perf_lines(const char *path);

#endif /* TESTS_PERFFILE_H */
