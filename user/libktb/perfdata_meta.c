// SPDX-License-Identifier: LGPL-2.1-only
/* What a perf.data file says of its contents: ids, attributes, features. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "perfdata.h"

static void fill_attr(const struct ktb_perfdata *file, const struct ktb_event_info *event,
		      struct perf_event_attr *attr)
{
	if (event->attr.size)
		*attr = event->attr;
	else
		*attr = (struct perf_event_attr){
			.type = PERF_TYPE_TRACEPOINT,
			.config = event->type,
			.sample_period = event->period ? event->period : 1,
		};
	attr->size = KTB_ATTR_SIZE;
	attr->sample_type = file->sample_type;
	attr->read_format = PERF_FORMAT_ID;
	attr->disabled = 1;
	attr->inherit = 1;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
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
		.ksymbol = 1,
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
	attr->ksymbol = 0;
}

static bool is_known(const struct ktb_perfdata *file, const struct ktb_event_info *event)
{
	return event->attr.size || ktb_format_of(file, event);
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
		/* Readers give up at a tracepoint without a format, too. */
		if (is_known(file, &file->events[i]))
			fill_attr(file, &file->events[i], &what->attr);
		else
			stray_attr(file, &what->attr);
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

/* The ratio is known in the end. */
static bool feature_compressed(struct ktb_perfdata *file, struct ktb_blob *blob)
{
	const uint64_t packed = file->data_end - file->data_offset;
	uint64_t ratio = packed ? (file->plain + packed / 2) / packed : 1;

	if (!file->level)
		return false;
	ktb_blob_put_u32(blob, 1); /* version */
	ktb_blob_put_u32(blob, 1); /* zstd */
	ktb_blob_put_u32(blob, file->level);
	ktb_blob_put_u32(blob, ratio ? (uint32_t)ratio : 1);
	ktb_blob_put_u32(blob, KTB_ZSTD_ROOM);
	return true;
}

struct feature {
	enum ktb_feature number;
	bool (*put)(struct ktb_perfdata *file, struct ktb_blob *blob);
};

/* By number, as the file's table of them is. */
static const struct feature features[KTB_FEATURES] = {
	{ KTB_FEATURE_TRACING_DATA, ktb_feature_tracing_data },
	{ KTB_FEATURE_BUILD_ID, ktb_feature_build_id },
	{ KTB_FEATURE_HOSTNAME, ktb_feature_hostname },
	{ KTB_FEATURE_OSRELEASE, ktb_feature_osrelease },
	{ KTB_FEATURE_VERSION, ktb_feature_version },
	{ KTB_FEATURE_ARCH, ktb_feature_arch },
	{ KTB_FEATURE_NRCPUS, ktb_feature_nrcpus },
	{ KTB_FEATURE_CPUDESC, ktb_feature_cpudesc },
	{ KTB_FEATURE_TOTAL_MEM, ktb_feature_total_mem },
	{ KTB_FEATURE_CMDLINE, ktb_feature_cmdline },
	{ KTB_FEATURE_EVENT_DESC, feature_event_desc },
	{ KTB_FEATURE_SAMPLE_TIME, feature_sample_time },
	{ KTB_FEATURE_CLOCKID, ktb_feature_clockid },
	{ KTB_FEATURE_COMPRESSED, feature_compressed },
	{ KTB_FEATURE_CLOCK_DATA, ktb_feature_clock_data },
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

unsigned int ktb_perfdata_feature_index(unsigned int number)
{
	unsigned int i = 0;

	while (i < KTB_FEATURES - 1 && features[i].number != number)
		i++;
	return i;
}

/* Returns false if there is nothing to be said. */
bool ktb_perfdata_put_feature(struct ktb_perfdata *file, unsigned int index, struct ktb_blob *blob)
{
	return features[index].put(file, blob) && !blob->failed;
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
