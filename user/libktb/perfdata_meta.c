// SPDX-License-Identifier: LGPL-2.1-only
/* What a perf.data file says of its contents: ids, attributes, features. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "perfdata.h"

/* Numbers of the features, as the file format has them. */
enum {
	FEATURE_TRACING_DATA = 1,
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_NRCPUS = 7,
	FEATURE_CPUDESC = 8,
	FEATURE_TOTAL_MEM = 10,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12,
	FEATURE_SAMPLE_TIME = 21,
	FEATURE_CLOCKID = 23,
	FEATURE_CLOCK_DATA = 29,
};

static void fill_attr(const struct ktb_perfdata *file, const struct ktb_event_info *event,
		      struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr){
		.type = PERF_TYPE_TRACEPOINT,
		.size = KTB_ATTR_SIZE,
		.config = event->type,
		.sample_period = event->period ? event->period : 1,
		.sample_type = file->sample_type,
		.read_format = PERF_FORMAT_ID,
		.disabled = 1,
		.inherit = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
}

/* The event that tells of new tasks and mappings; its ids are where a sample's are. */
void ktb_perfdata_sideband_attr(struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = KTB_ATTR_SIZE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.read_format = PERF_FORMAT_ID,
		.mmap = 1,
		.comm = 1,
		.task = 1,
		.sample_id_all = 1,
		.mmap2 = 1,
		.comm_exec = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
}

/*
 * Records of events that were detached before: without an attribute for them
 * readers give up. What it is of can be told no more.
 */
static void stray_attr(const struct ktb_perfdata *file, struct perf_event_attr *attr)
{
	ktb_perfdata_sideband_attr(attr);
	attr->sample_type = file->sample_type;
	attr->mmap = 0;
	attr->mmap2 = 0;
	attr->comm = 0;
	attr->comm_exec = 0;
	attr->task = 0;
}

/* One attribute, its name and the ids of its records. */
struct description {
	struct perf_event_attr attr;
	const char *name;
	const uint64_t *ids;
	unsigned int nr_ids;
};

static unsigned int nr_attrs(const struct ktb_perfdata *file)
{
	return file->nr_events + !!file->nr_strays + !!file->sideband;
}

/* Number @i: the events, then what is left of others, then the side-band. */
static void describe(const struct ktb_perfdata *file, unsigned int i, struct description *what)
{
	static const uint64_t sideband_id = KTB_SIDEBAND_ID;

	if (i < file->nr_events) {
		fill_attr(file, &file->events[i], &what->attr);
		what->name = file->events[i].name;
		what->ids = &file->events[i].id;
		what->nr_ids = 1;
	} else if (i == file->nr_events && file->nr_strays) {
		stray_attr(file, &what->attr);
		what->name = "detached";
		what->ids = file->strays;
		what->nr_ids = file->nr_strays;
	} else {
		ktb_perfdata_sideband_attr(&what->attr);
		what->name = "dummy";
		what->ids = &sideband_id;
		what->nr_ids = 1;
	}
}

static bool feature_event_desc(struct ktb_perfdata *file, struct ktb_blob *blob)
{
	struct description what;

	ktb_blob_put_u32(blob, nr_attrs(file));
	ktb_blob_put_u32(blob, KTB_ATTR_SIZE);
	for (unsigned int i = 0; i < nr_attrs(file); i++) {
		describe(file, i, &what);
		ktb_blob_put(blob, &what.attr, KTB_ATTR_SIZE);
		ktb_blob_put_u32(blob, what.nr_ids);
		ktb_blob_put_string(blob, what.name);
		ktb_blob_put(blob, what.ids, what.nr_ids * sizeof(*what.ids));
	}
	return true;
}

/* The times are known in the end: there is room for them until then. */
static bool feature_sample_time(struct ktb_perfdata *file, struct ktb_blob *blob)
{
	ktb_blob_put_u64(blob, file->first_time);
	ktb_blob_put_u64(blob, file->last_time);
	return true;
}

struct feature {
	unsigned int number;
	bool needed; /* or no reader can make use of the file */
	bool (*put)(struct ktb_perfdata *file, struct ktb_blob *blob);
};

/* By number, as the file's table of them is. */
static const struct feature features[KTB_FEATURES] = {
	{ FEATURE_TRACING_DATA, true, ktb_feature_tracing_data },
	{ FEATURE_BUILD_ID, false, ktb_feature_build_id },
	{ FEATURE_HOSTNAME, false, ktb_feature_hostname },
	{ FEATURE_OSRELEASE, false, ktb_feature_osrelease },
	{ FEATURE_VERSION, false, ktb_feature_version },
	{ FEATURE_ARCH, false, ktb_feature_arch },
	{ FEATURE_NRCPUS, false, ktb_feature_nrcpus },
	{ FEATURE_CPUDESC, false, ktb_feature_cpudesc },
	{ FEATURE_TOTAL_MEM, false, ktb_feature_total_mem },
	{ FEATURE_CMDLINE, false, ktb_feature_cmdline },
	{ FEATURE_EVENT_DESC, false, feature_event_desc },
	{ FEATURE_SAMPLE_TIME, false, feature_sample_time },
	{ FEATURE_CLOCKID, false, ktb_feature_clockid },
	{ FEATURE_CLOCK_DATA, false, ktb_feature_clock_data },
};

static void put_attrs(struct ktb_perfdata *file, struct ktb_blob *blob, uint64_t base)
{
	uint64_t ids = base + blob->len;
	struct description what;

	for (unsigned int i = 0; i < nr_attrs(file); i++) {
		describe(file, i, &what);
		ktb_blob_put(blob, what.ids, what.nr_ids * sizeof(*what.ids));
	}
	file->attrs_offset = base + blob->len;
	for (unsigned int i = 0; i < nr_attrs(file); i++) {
		describe(file, i, &what);
		ktb_blob_put(blob, &what.attr, KTB_ATTR_SIZE);
		ktb_blob_put_u64(blob, ids);
		ktb_blob_put_u64(blob, what.nr_ids * sizeof(*what.ids));
		ids += what.nr_ids * sizeof(*what.ids);
	}
	file->attrs_size = base + blob->len - file->attrs_offset;
}

/*
 * Fill @blob with the metadata, which will be @base bytes from the beginning of
 * the file. Returns 0 or a negative errno, with the file's text set.
 */
int ktb_perfdata_describe(struct ktb_perfdata *file, struct ktb_blob *blob, uint64_t base)
{
	size_t start;

	put_attrs(file, blob, base);
	for (unsigned int i = 0; i < KTB_FEATURES; i++) {
		start = blob->len;
		file->features[i] = (struct ktb_section){ 0 };
		if (!features[i].put(file, blob)) {
			blob->len = start;
			if (features[i].needed)
				return -ENOENT;
			continue;
		}
		file->features[i].offset = base + start;
		file->features[i].size = blob->len - start;
		ktb_blob_align(blob);
	}
	if (blob->failed)
		return ktb_perfdata_fail(file, -ENOMEM, "out of memory");
	return 0;
}

struct ktb_section *ktb_perfdata_time_section(struct ktb_perfdata *file)
{
	for (unsigned int i = 0; i < KTB_FEATURES; i++)
		if (features[i].number == FEATURE_SAMPLE_TIME)
			return &file->features[i];
	return NULL;
}

/* Where the features are, and their bits. Returns how many there are. */
unsigned int ktb_perfdata_put_table(const struct ktb_perfdata *file, struct ktb_section *table,
				    uint64_t *bits)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < KTB_FEATURES; i++) {
		if (!file->features[i].offset)
			continue;
		table[nr++] = file->features[i];
		*bits |= 1ULL << features[i].number;
	}
	return nr;
}
