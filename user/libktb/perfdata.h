/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * A perf.data file while it is written. Its parts, in this order:
 *
 *	header		written anew when the file is finished
 *	metadata	ids, attributes and the contents of the features: all that
 *			readers need to know, there before the first record
 *	data		records as they come
 *	feature table	where in the metadata each feature is; when finishing
 *	metadata	a second time, if events came later
 *
 * On a full disk nothing can be added. Hence the metadata stands in front, and
 * for the table, which has to follow the data, as much of the data is given up.
 */
#ifndef KTB_PERFDATA_H
#define KTB_PERFDATA_H

#include <pthread.h>

#include "internal.h"

#define KTB_FEATURES 15
#define KTB_TABLE_SIZE (KTB_FEATURES * sizeof(struct ktb_section))
#define KTB_ATTR_SIZE PERF_ATTR_SIZE_VER5 /* what we fill; known to all readers of today */
/* Numbers of the features, as the file format has them. */
enum ktb_feature {
	KTB_FEATURE_TRACING_DATA = 1,
	KTB_FEATURE_BUILD_ID = 2,
	KTB_FEATURE_HOSTNAME = 3,
	KTB_FEATURE_OSRELEASE = 4,
	KTB_FEATURE_VERSION = 5,
	KTB_FEATURE_ARCH = 6,
	KTB_FEATURE_NRCPUS = 7,
	KTB_FEATURE_CPUDESC = 8,
	KTB_FEATURE_TOTAL_MEM = 10,
	KTB_FEATURE_CMDLINE = 11,
	KTB_FEATURE_EVENT_DESC = 12,
	KTB_FEATURE_SAMPLE_TIME = 21,
	KTB_FEATURE_CLOCKID = 23,
	KTB_FEATURE_DIRECTORY = 24,
	KTB_FEATURE_COMPRESSED = 27,
	KTB_FEATURE_CLOCK_DATA = 29,
};

#define KTB_SIDEBAND_ID UINT64_MAX /* no event of the module's has it */

struct ktb_section {
	uint64_t offset;
	uint64_t size;
};

/* blob.c: bytes that grow */
struct ktb_blob {
	uint8_t *data;
	size_t len;
	size_t room;
	bool failed; /* out of memory: what came since is missing */
};

void ktb_blob_put(struct ktb_blob *blob, const void *data, size_t len);
void ktb_blob_put_u32(struct ktb_blob *blob, uint32_t value);
void ktb_blob_put_u64(struct ktb_blob *blob, uint64_t value);
void ktb_blob_put_string(struct ktb_blob *blob, const char *text);
void ktb_blob_align(struct ktb_blob *blob);
void ktb_blob_free(struct ktb_blob *blob);

/* build_ids.c: programs and libraries, sorted, and the ids of all that can run */
struct ktb_paths {
	char **all;
	unsigned int nr;
};

struct ktb_perfdata;

size_t ktb_find_build_id(const uint8_t *notes, size_t len, const uint8_t **id);
void ktb_paths_add(struct ktb_paths *paths, const char *path, uint32_t pid, uint64_t start,
		   uint64_t end, uint64_t inode);
void ktb_paths_free(struct ktb_paths *paths);
bool ktb_feature_build_id(struct ktb_perfdata *file, struct ktb_blob *blob);

/* zstd.c: compressing */
struct ktb_zstd_writer;

#define KTB_ZSTD_PART 60000 /* bytes of records in one compressed record */
#define KTB_ZSTD_ROOM 65536 /* what a reader needs to expand one */

struct ktb_zstd_writer *ktb_zstd_new_writer(int level);
void ktb_zstd_free_writer(struct ktb_zstd_writer *zstd);
int ktb_zstd_pack(struct ktb_zstd_writer *zstd, const void *data, size_t len,
		  struct ktb_blob *blob);

/*
 * The records of one CPU: what is looked at for the first and the last time. One
 * thread at a time writes them.
 */
struct ktb_stream {
	unsigned int cpu;
	struct ktb_section first;
	struct ktb_section last;
	struct ktb_zstd_writer *zstd; /* or NULL: they are not compressed */
	struct ktb_blob packed;
};

/* perfdata_tracing.c: how an event's own data are laid out, as tracefs told */
struct ktb_format_text {
	uint32_t type; /* of the event */
	int size;
	char *text;
};

struct ktb_sideband;
struct ktb_direct;

struct ktb_perfdata {
	pthread_mutex_t lock; /* of all that changes with each write */
	int fd;
	char *path;
	int err; /* why nothing can be written any more, or 0 */
	char error[KTB_ERROR_LEN];

	uint64_t sample_type;
	bool count;
	struct ktb_event_info *events;
	unsigned int nr_events;
	struct ktb_format_text *formats; /* of events, since they were first seen */
	unsigned int nr_formats;
	uint64_t *strays; /* ids of events that are not in @events */
	unsigned int nr_strays;
	bool stale; /* the metadata do not have all events */
	int argc;
	char *const *argv;

	uint64_t attrs_size;
	uint64_t attrs_offset;
	struct ktb_section features[KTB_FEATURES]; /* offset 0: there is none */

	uint64_t data_offset;
	uint64_t data_end; /* whole records */
	uint64_t written; /* the file has room up to here at least */
	uint64_t mark; /* a record's beginning, a table's size before written */
	struct ktb_direct *direct; /* or NULL: records go to the file at once */
	uint64_t next_mark; /* a later record's */
	uint64_t far; /* a record's beginning, far before written; or the first's */
	uint64_t next_far;

	struct ktb_time_place time_place;
	struct ktb_stream **streams;
	unsigned int nr_streams;
	uint64_t first_time;
	uint64_t last_time;

	uint64_t round_time;
	uint64_t round_end; /* data_end when the last round ended */
	struct ktb_sideband *sideband; /* or NULL */
	struct ktb_paths programs; /* that were mapped */
	int level; /* of compression, 0 for none */
	uint64_t plain; /* bytes that were compressed */
	struct ktb_perfdata_stats stats;
};

int ktb_perfdata_fail(struct ktb_perfdata *file, int err, const char *format, ...) KTB_PRINTF(3, 4);
int ktb_perfdata_fail_write(struct ktb_perfdata *file, int err);
int ktb_perfdata_write_at(int fd, const void *data, size_t len, uint64_t offset, size_t *done);
int ktb_perfdata_put(struct ktb_perfdata *file, const void *data, size_t len, uint64_t offset);
int ktb_perfdata_append(struct ktb_perfdata *file, const void *data, size_t len);
uint64_t ktb_perfdata_now(void);

int ktb_perfdata_check_compress(struct ktb_perfdata *file);

/* perfdata_frame.c */
void ktb_perfdata_remove(struct ktb_perfdata *file);

/* perfdata_direct.c */
void ktb_direct_open(struct ktb_perfdata *file);
void ktb_direct_begin(struct ktb_perfdata *file, int fd);
void ktb_direct_close(struct ktb_perfdata *file);
void ktb_direct_pause(struct ktb_direct *direct);
int ktb_direct_append(struct ktb_perfdata *file, const void *data, size_t len);
int ktb_direct_flush(struct ktb_perfdata *file, uint64_t age_ns);
ssize_t ktb_direct_read(const struct ktb_perfdata *file, uint8_t *data, size_t len, uint64_t pos);

/* perfdata_walk.c */
void ktb_perfdata_cut(struct ktb_perfdata *file, uint64_t room);
void ktb_perfdata_find_times(struct ktb_perfdata *file);
void ktb_perfdata_forget_known(struct ktb_perfdata *file);
void ktb_perfdata_look(struct ktb_perfdata *file, const void *data, size_t len);
void ktb_perfdata_look_for_times(struct ktb_perfdata *file, const void *data, size_t len);

/* perfdata_meta.c */
int ktb_perfdata_describe(struct ktb_perfdata *file, struct ktb_blob *blob, uint64_t base);
bool ktb_perfdata_put_feature(struct ktb_perfdata *file, unsigned int index, struct ktb_blob *blob);
unsigned int ktb_perfdata_feature_index(unsigned int number);
unsigned int ktb_perfdata_put_table(const struct ktb_perfdata *file, struct ktb_section *table,
				    uint64_t *bits);
void ktb_perfdata_sideband_attr(struct perf_event_attr *attr);

/* perfdata_host.c */
bool ktb_feature_hostname(struct ktb_perfdata *file, struct ktb_blob *blob);
bool ktb_feature_osrelease(struct ktb_perfdata *file, struct ktb_blob *blob);
bool ktb_feature_version(struct ktb_perfdata *file, struct ktb_blob *blob);
bool ktb_feature_arch(struct ktb_perfdata *file, struct ktb_blob *blob);
bool ktb_feature_nrcpus(struct ktb_perfdata *file, struct ktb_blob *blob);
bool ktb_feature_cpudesc(struct ktb_perfdata *file, struct ktb_blob *blob);
bool ktb_feature_total_mem(struct ktb_perfdata *file, struct ktb_blob *blob);
bool ktb_feature_cmdline(struct ktb_perfdata *file, struct ktb_blob *blob);
bool ktb_feature_clockid(struct ktb_perfdata *file, struct ktb_blob *blob);
bool ktb_feature_clock_data(struct ktb_perfdata *file, struct ktb_blob *blob);

/* perfdata_tracing.c */
int ktb_formats_copy(struct ktb_perfdata *file, const struct ktb_perfdata *earlier);
int ktb_formats_learn(struct ktb_perfdata *file);
const struct ktb_format_text *ktb_format_of(const struct ktb_perfdata *file,
					    const struct ktb_event_info *event);
void ktb_formats_forget(struct ktb_perfdata *file);
bool ktb_feature_tracing_data(struct ktb_perfdata *file, struct ktb_blob *blob);

/* perfdata_sideband.c */
int ktb_sideband_open(struct ktb_perfdata *file);
int ktb_sideband_drain(struct ktb_perfdata *file);
void ktb_sideband_close(struct ktb_perfdata *file);

#endif /* KTB_PERFDATA_H */
