// SPDX-License-Identifier: LGPL-2.1-only
/* Beginning and end of a perf.data file; perfdata.h has the order of its parts. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfdata.h"

#define MORE 4096
#define MAGIC 0x32454c4946524550ULL /* "PERFILE2" */

struct file_header {
	uint64_t magic;
	uint64_t size;
	uint64_t attr_size; /* with the place of its ids */
	struct ktb_section attrs;
	struct ktb_section data;
	struct ktb_section event_types; /* not used any more */
	uint64_t features[4];
};

static int write_all(struct ktb_perfdata *file, const void *data, size_t len, uint64_t offset)
{
	size_t done;

	return ktb_perfdata_write_at(file->fd, data, len, offset, &done);
}

/* ---- the beginning ---- */

static int write_header(struct ktb_perfdata *file, const uint64_t *bits)
{
	struct file_header header = {
		.magic = MAGIC,
		.size = sizeof(header),
		.attr_size = KTB_ATTR_SIZE + sizeof(struct ktb_section),
		.attrs = { file->attrs_offset, file->attrs_size },
		.data = { file->data_offset, file->data_end - file->data_offset },
	};

	if (bits)
		header.features[0] = *bits;
	return write_all(file, &header, sizeof(header), 0);
}

/* Also the table's place is written once: then there is room for it. */
static int write_beginning(struct ktb_perfdata *file, const struct ktb_blob *meta)
{
	const uint8_t zeros[KTB_TABLE_SIZE] = { 0 };
	int err;

	file->data_offset = sizeof(struct file_header) + meta->len;
	ktb_direct_open(file);
	file->data_end = file->data_offset;
	file->written = file->data_offset + sizeof(zeros);
	file->mark = file->data_offset;
	file->next_mark = file->data_offset;
	file->far = file->data_offset;
	file->next_far = file->data_offset;
	file->round_end = file->data_offset;
	err = write_header(file, NULL);
	if (!err)
		err = write_all(file, meta->data, meta->len, sizeof(struct file_header));
	if (!err)
		err = write_all(file, zeros, sizeof(zeros), file->data_offset);
	return err ? ktb_perfdata_fail_write(file, err) : 0;
}

/* An earlier recording is kept, as perf does. */
static int keep_earlier(struct ktb_perfdata *file)
{
	struct stat st;
	char *old;
	int err = 0;

	if (stat(file->path, &st))
		return 0;
	if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(file->fd))
		return ktb_perfdata_fail(file, -ESPIPE, "'%s' is no file: a perf.data needs one",
					 file->path);
	if (!S_ISREG(st.st_mode) || !st.st_size)
		return 0;
	if (asprintf(&old, "%s.old", file->path) < 0)
		return ktb_perfdata_fail(file, -ENOMEM, "out of memory");
	if (rename(file->path, old)) {
		err = -errno;
		ktb_perfdata_fail(file, err, "'%s' exists and cannot be renamed to '%s': %s",
				  file->path, old, strerror(-err));
	}
	free(old);
	return err;
}

static int create(struct ktb_perfdata *file)
{
	int err = keep_earlier(file);

	if (err)
		return err;
	file->fd = open(file->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (file->fd >= 0)
		return 0;
	err = -errno;
	return ktb_perfdata_fail(file, err, "cannot make '%s': %s", file->path, strerror(-err));
}

/* No reader could make sense of a file without its end; a device stays. */
void ktb_perfdata_remove(struct ktb_perfdata *file)
{
	struct stat st;

	if (!fstat(file->fd, &st) && S_ISREG(st.st_mode))
		unlink(file->path);
	close(file->fd);
}

static int copy_events(struct ktb_perfdata *file, const struct ktb_event_info *events,
		       unsigned int nr)
{
	struct ktb_event_info *copy = calloc(nr + 1, sizeof(*copy));

	if (!copy)
		return ktb_perfdata_fail(file, -ENOMEM, "out of memory");
	for (unsigned int i = 0; i < nr; i++)
		ktb_event_info_copy(&copy[i], &events[i]);
	free(file->events);
	file->events = copy;
	file->nr_events = nr;
	if (ktb_formats_learn(file))
		return ktb_perfdata_fail(file, -ENOMEM, "out of memory");
	return 0;
}

/* Those of the first file have formats; of later ones some may be gone by then. */
static int check_formats(struct ktb_perfdata *file)
{
	for (unsigned int i = 0; i < file->nr_events; i++)
		if (!file->events[i].attr.size && !ktb_format_of(file, &file->events[i]))
			return ktb_perfdata_fail(file, -ENOENT,
						 "tracefs has no format of event '%s'",
						 file->events[i].name);
	return 0;
}

static int take_events(struct ktb_perfdata *file, const struct ktb_perfdata_options *options)
{
	int err;

	if (options->earlier && ktb_formats_copy(file, options->earlier))
		return ktb_perfdata_fail(file, -ENOMEM, "out of memory");
	err = copy_events(file, options->events, options->nr_events);
	return err || options->earlier ? err : check_formats(file);
}

int ktb_perfdata_open(struct ktb_perfdata *file, const char *path,
		      const struct ktb_perfdata_options *options)
{
	struct ktb_blob meta = { 0 };
	int err;

	if (file->path)
		return ktb_perfdata_fail(file, -EALREADY, "the file is open");
	file->path = strdup(path);
	file->sample_type = options->sample_type;
	file->count = options->count;
	file->argc = options->argc;
	file->argv = options->argv;
	file->level = options->compress;
	ktb_time_place(file->sample_type, &file->time_place);
	if (!file->path)
		return ktb_perfdata_fail(file, -ENOMEM, "out of memory");
	err = ktb_perfdata_check_compress(file);
	if (!err)
		err = take_events(file, options);
	if (!err && options->sideband)
		err = ktb_sideband_open(file);
	/* What cannot be described is not to cost an earlier recording. */
	if (!err)
		err = ktb_perfdata_describe(file, &meta, sizeof(struct file_header));
	if (!err)
		err = create(file);
	if (!err)
		err = write_beginning(file, &meta);
	ktb_blob_free(&meta);
	return err;
}

int ktb_perfdata_set_events(struct ktb_perfdata *file, const struct ktb_event_info *events,
			    unsigned int nr)
{
	int err;

	pthread_mutex_lock(&file->lock);
	err = copy_events(file, events, nr);
	file->stale = true;
	if (!err)
		ktb_perfdata_forget_known(file);
	pthread_mutex_unlock(&file->lock);
	return err;
}

/* ---- the end ---- */

static int write_table(struct ktb_perfdata *file, uint64_t *bits)
{
	struct ktb_section table[KTB_FEATURES] = { { 0 } };
	unsigned int nr = ktb_perfdata_put_table(file, table, bits);

	return write_all(file, table, nr * sizeof(table[0]), file->data_end);
}

/*
 * Behind the table. Returns 0, *@end then, or a negative errno; *@len is what there
 * was no room for.
 */
static int write_meta(struct ktb_perfdata *file, uint64_t *end, size_t *len)
{
	const struct ktb_perfdata before = *file;
	const uint64_t base = file->data_end + KTB_TABLE_SIZE;
	struct ktb_blob meta = { 0 };
	int err = ktb_perfdata_describe(file, &meta, base);

	*len = err ? 0 : meta.len;
	if (!err)
		err = write_all(file, meta.data, meta.len, base);
	if (err) {
		memcpy(file->features, before.features, sizeof(file->features));
		file->attrs_offset = before.attrs_offset;
		file->attrs_size = before.attrs_size;
	} else {
		*end = base + meta.len;
	}
	ktb_blob_free(&meta);
	return err;
}

/*
 * Metadata with the events that came later. A reader ends at the first sample of an
 * event it does not know: without room, as many of the last records are given up.
 * Of compressed ones none can be, nor all: then the metadata before have to do.
 */
static int describe_again(struct ktb_perfdata *file, uint64_t *end)
{
	size_t len;
	int err = write_meta(file, end, &len);
	/* Of names and build ids there may be more the next time. */
	const uint64_t room = KTB_TABLE_SIZE + len + MORE;

	if (!err || !len || file->level || file->written < file->data_offset + room)
		return err;
	ktb_perfdata_cut(file, room);
	file->stats.bytes = file->data_end - file->data_offset;
	write_meta(file, end, &len);
	return err;
}

/* What is known in the end only; there is room for it. */
static int write_again(struct ktb_perfdata *file, unsigned int number)
{
	const unsigned int index = ktb_perfdata_feature_index(number);
	const struct ktb_section *section = &file->features[index];
	struct ktb_blob blob = { 0 };
	int err = 0;

	if (section->offset && ktb_perfdata_put_feature(file, index, &blob) &&
	    blob.len == section->size)
		err = write_all(file, blob.data, blob.len, section->offset);
	ktb_blob_free(&blob);
	return err;
}

/* Build ids, with those of programs that were mapped meanwhile, behind the table. */
static void write_build_ids(struct ktb_perfdata *file, uint64_t *end)
{
	const unsigned int index = ktb_perfdata_feature_index(KTB_FEATURE_BUILD_ID);
	const uint64_t base = file->data_end + KTB_TABLE_SIZE;
	struct ktb_blob blob = { 0 };

	/* Without room those in front have to do. */
	if (ktb_perfdata_put_feature(file, index, &blob) &&
	    !write_all(file, blob.data, blob.len, base)) {
		file->features[index] = (struct ktb_section){ base, blob.len };
		*end = base + blob.len;
	}
	ktb_blob_free(&blob);
}

/* The table has its room, or what is given up for it has. */
static int write_table_first(struct ktb_perfdata *file)
{
	uint64_t bits = 0;
	int err = write_table(file, &bits);

	/* Compressed, there was room before each write. */
	if (!err || file->level)
		return err;
	ktb_perfdata_cut(file, KTB_TABLE_SIZE);
	file->stats.bytes = file->data_end - file->data_offset;
	return write_table(file, &bits);
}

static int write_end(struct ktb_perfdata *file)
{
	uint64_t bits = 0, end;
	int err = write_table_first(file), late = 0;

	end = file->data_end + KTB_TABLE_SIZE;
	if (!err && file->stale)
		late = describe_again(file, &end);
	else if (!err && file->programs.nr && !file->err)
		write_build_ids(file, &end);
	if (!err)
		err = write_table(file, &bits);
	if (!err)
		err = write_again(file, KTB_FEATURE_SAMPLE_TIME);
	if (!err)
		err = write_again(file, KTB_FEATURE_COMPRESSED);
	if (!err)
		err = write_header(file, &bits);
	if (!err && ftruncate(file->fd, (off_t)end) && errno != EINVAL)
		err = -errno;
	/* Of an earlier failure was told. */
	return err || file->err ? err : late;
}

int ktb_perfdata_finish(struct ktb_perfdata *file)
{
	int err, late = 0;

	if (file->fd < 0)
		return ktb_perfdata_fail(file, -EBADF, "no file is open");
	/* Of an earlier failure was told. */
	if (!file->err)
		late = ktb_perfdata_flush(file);
	if (!file->level)
		ktb_perfdata_find_times(file);
	err = write_end(file);
	if (close(file->fd) && !err)
		err = -errno;
	file->fd = -1;
	ktb_direct_close(file);
	return err ? ktb_perfdata_fail_write(file, err) : late;
}
