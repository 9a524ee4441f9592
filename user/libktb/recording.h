/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * A perf.data file while it is read:
 *
 *	recording.c		the handle, and records as they come out
 *	recording_open.c	header, attributes, ids
 *	recording_meta.c	features: formats, names of events, build ids
 *	recording_order.c	records in the order of time
 *	tasks.c			threads: names and mappings
 *	symbols.c		names of addresses
 *	dso.c			those of one program or library
 *
 * stacks.c uses the last three for samples that are not out of a file.
 */
#ifndef KTB_RECORDING_H
#define KTB_RECORDING_H

#include "cursor.h"
#include "internal.h"
#include "perfdata.h"

/* ---- events ---- */

struct ktb_source_event {
	struct ktb_recording_event shown;
	char *name;
	bool sample_id_all;
	bool sideband; /* counts nothing, and tells of tasks */
	uint64_t sample_type; /* without what stands behind what we decode */
};

struct ktb_event_id {
	uint64_t id;
	unsigned int event;
};

/* ---- symbols.c ---- */

struct ktb_dso;
struct ktb_map;
struct ktb_symbols;

struct ktb_symbols *ktb_symbols_new(const char *kallsyms, const char *symfs);
void ktb_symbols_free(struct ktb_symbols *symbols);
struct ktb_dso *ktb_symbols_dso(struct ktb_symbols *symbols, const char *path);
struct ktb_dso *ktb_symbols_file(struct ktb_symbols *symbols, const char *path, uint64_t dev,
				 uint64_t inode);
struct ktb_dso *ktb_symbols_mapped(struct ktb_symbols *symbols, const char *path, uint64_t inode);
unsigned int ktb_symbols_nr_dsos(const struct ktb_symbols *symbols);
void ktb_symbols_forget_dsos(struct ktb_symbols *symbols);
void ktb_symbols_build_id(struct ktb_symbols *symbols, const char *path, const uint8_t *id,
			  size_t len);
void ktb_symbols_kernel_start(struct ktb_symbols *symbols, uint64_t start);
void ktb_symbols_kernel_area(struct ktb_symbols *symbols, uint64_t start, uint64_t len,
			     const char *name, bool gone);
void ktb_symbols_resolve(struct ktb_symbols *symbols, const struct ktb_map *map,
			 struct ktb_frame *frame);
void ktb_symbols_refresh(struct ktb_symbols *symbols, uint64_t addr);
bool ktb_symbols_kernel(struct ktb_symbols *symbols, uint64_t addr, struct ktb_frame *frame);
char *ktb_symbols_function(void *symbols, unsigned long long *addr, char **module);
const char *ktb_symbols_problem(struct ktb_symbols *symbols);

/* The addresses of a call chain, without the markers between them. */
struct ktb_walk {
	const uint64_t *next;
	const uint64_t *end;
	bool kernel;
};

void ktb_walk_begin(struct ktb_walk *walk, const struct ktb_sample *sample, bool kernel);
bool ktb_walk_next(struct ktb_walk *walk, struct ktb_frame *frame);

/* ---- dso.c ---- */

struct ktb_dso {
	char *path;
	uint64_t dev; /* of what a process has mapped now, and is loaded from there; */
	uint64_t inode; /* 0: the file is the one of that path */
	uint8_t build_id[20];
	size_t build_id_len; /* 0: not known */
	uint64_t mapped; /* inode of what was recorded by that path; 0: not known */
	bool shared; /* the path, with another file that was recorded */
	bool loaded; /* or tried */
	uint32_t missed_pid; /* a process through which it could not be had */
	bool mismatch; /* the file is another one by now */
	struct ktb_dso_table *table; /* or NULL */
};

void ktb_dso_load(struct ktb_dso *dso, const char *symfs, bool this_kernel);
void ktb_dso_load_file(struct ktb_dso *dso, const char *file);
void ktb_dso_free(struct ktb_dso *dso);
const char *ktb_dso_symbol(const struct ktb_dso *dso, uint64_t offset, uint64_t *into);

/* ---- tasks.c ---- */

struct ktb_map {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* in the file, of the start */
	struct ktb_dso *dso;
};

struct ktb_tasks;

struct ktb_tasks *ktb_tasks_new(void);
void ktb_tasks_free(struct ktb_tasks *tasks);
void ktb_tasks_comm(struct ktb_tasks *tasks, uint32_t tid, const char *name, size_t len);
void ktb_tasks_fork(struct ktb_tasks *tasks, const uint32_t ids[4], bool inherits);
void ktb_tasks_map(struct ktb_tasks *tasks, uint32_t pid, const struct ktb_map *map);
const char *ktb_tasks_name(struct ktb_tasks *tasks, uint32_t tid);
void ktb_tasks_unmap(struct ktb_tasks *tasks, uint32_t pid);
uint64_t *ktb_tasks_looked(struct ktb_tasks *tasks, uint32_t pid);
unsigned int ktb_tasks_nr(const struct ktb_tasks *tasks);
const struct ktb_map *ktb_tasks_find(struct ktb_tasks *tasks, uint32_t pid, uint64_t addr);

/* ---- recording_order.c ---- */

/* Records that were decompressed, or moved to where they are aligned. */
struct ktb_chunk {
	struct ktb_chunk *next;
	size_t len;
	size_t users; /* records in it that were not handed out yet */
	uint8_t data[] __attribute__((aligned(8)));
};

struct ktb_queued {
	uint64_t time;
	const struct perf_event_header *record;
	struct ktb_chunk *chunk; /* or NULL: it is in the file */
};

struct ktb_zstd;

struct ktb_order {
	uint64_t pos; /* in the file */
	uint64_t end;
	struct ktb_queued *queue; /* by time up to @ready */
	size_t nr;
	size_t room;
	size_t out; /* handed out */
	size_t ready;
	uint64_t newest; /* of all times seen */
	uint64_t before; /* the same at the last end of a round */
	uint64_t handed_out; /* the newest time */
	struct ktb_chunk *current; /* of the record handed out last */
	struct ktb_chunk *rest; /* decompressed, and not whole */
	struct ktb_zstd *zstd;
	bool expanding;
};

struct ktb_recording;

int ktb_order_next(struct ktb_recording *recording, const struct perf_event_header **record);
void ktb_order_exit(struct ktb_order *order);

/* ---- recording.c ---- */

struct ktb_recording {
	char *path;
	const uint8_t *map;
	size_t size;
	char error[KTB_ERROR_LEN];

	struct ktb_section attrs;
	struct ktb_section data;
	uint64_t attr_size;
	uint64_t features; /* mask; the table follows the data */
	struct ktb_source_event *events;
	unsigned int nr_events;
	struct ktb_event_id *ids; /* sorted */
	unsigned int nr_ids;
	unsigned int last_id; /* found */
	unsigned int id_in_sample; /* where ids are, 0: nowhere */
	unsigned int id_from_end;
	struct ktb_time_place time_place;
	bool compressed;

	struct ktb_formats *formats;
	struct ktb_tasks *tasks;
	struct ktb_symbols *symbols;
	struct ktb_order order;
	struct ktb_recording_stats stats;
	bool lost_summed;
};

int ktb_recording_fail(struct ktb_recording *recording, int err, const char *format, ...)
	KTB_PRINTF(3, 4);
int ktb_recording_refuse(struct ktb_recording *recording, int err, const char *text);
struct ktb_source_event *ktb_recording_source(struct ktb_recording *recording,
					      const struct perf_event_header *record);

/* recording_open.c */
int ktb_recording_map(struct ktb_recording *recording);
int ktb_recording_attrs(struct ktb_recording *recording);

/* recording_meta.c */
int ktb_recording_features(struct ktb_recording *recording);

/* zstd.c */
struct ktb_zstd *ktb_zstd_new_reader(void);
void ktb_zstd_free(struct ktb_zstd *zstd);
int ktb_zstd_expand(struct ktb_zstd *zstd, struct ktb_cursor *from, uint8_t *to, size_t *len);

#endif /* KTB_RECORDING_H */
