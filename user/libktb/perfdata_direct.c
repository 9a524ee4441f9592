// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Records past the page cache, where the file system takes direct I/O. Through it,
 * finding, clearing and filling pages is nearly all that an event costs its recorder.
 * So records are collected in a buffer, and a full one is written from where it is.
 *
 * The page cache is left for what has to be quick: when the disk falls behind what
 * is traced, and to hand on a buffer that does not fill up within a second, so that
 * a recorder that is killed takes no more than that along. Also for what direct I/O
 * does not take. Each page of the file goes one way, but for the few where one way
 * ends and the other begins; there the kernel sees to it that both show the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfdata.h"

/*
 * However long a write is, ext4 takes some 60,000 instructions for it: a place on the
 * disk, the journal, waiting. 6,500 events of 80 bytes share them here. Of a larger
 * buffer less would still be in the CPU's cache, whoever waits for the file's lock
 * would wait longer, and fewer recordings would fill it within a second.
 */
#define BUFFER_SIZE (512 << 10)

#define ALIGN 4096 /* of memory and file: enough for every disk and file system */

#define SLOW_NS 20000000 /* of a write: rings fill while their readers wait for it */
/* What the page cache took meanwhile has to reach the disk, too, and is in the way. */
#define PAUSE_NS 10000000000ULL

struct ktb_direct {
	int fd; /* or -1: the file system does not take it after all */
	uint8_t *data;
	size_t len;
	uint64_t base; /* where in the file @data begins */
	size_t flushed; /* of @len, in the file already */
	uint64_t flush_time;
	uint64_t pause_end;
};

/* Linux 6.1 and later know; on tmpfs, which is memory, there is nothing to gain. */
#ifdef STATX_DIOALIGN
static bool takes_direct(int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_DIOALIGN, &st))
		return false;
	/* Where there is no direct I/O, the alignments are 0. */
	return S_ISREG(st.stx_mode) && st.stx_mask & STATX_DIOALIGN && st.stx_dio_mem_align &&
	       st.stx_dio_mem_align <= ALIGN && st.stx_dio_offset_align &&
	       st.stx_dio_offset_align <= ALIGN;
}
#else
static bool takes_direct(int fd)
{
	(void)fd;
	return false;
}
#endif

static void free_direct(struct ktb_direct *direct)
{
	if (direct->fd >= 0)
		close(direct->fd);
	free(direct->data);
	free(direct);
}

/* Collect what is appended. @fd is for full buffers, or -1: then all is flushed. */
void ktb_direct_begin(struct ktb_perfdata *file, int fd)
{
	struct ktb_direct *direct = calloc(1, sizeof(*direct));

	if (!direct) {
		close(fd);
		return;
	}
	direct->fd = fd;
	direct->data = aligned_alloc(ALIGN, BUFFER_SIZE);
	direct->base = file->data_offset;
	direct->flush_time = ktb_perfdata_now();
	if (direct->data)
		file->direct = direct;
	else
		free_direct(direct);
}

/* Before the first record, the place of which may be moved. Failing: without. */
void ktb_direct_open(struct ktb_perfdata *file)
{
	char name[32];
	int fd;

	/* Compressed, there is little to write, and none of it can be taken back. */
	if (file->level || !takes_direct(file->fd))
		return;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", file->fd);
	fd = open(name, O_WRONLY | O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		return;
	file->data_offset = (file->data_offset + ALIGN - 1) / ALIGN * ALIGN;
	ktb_direct_begin(file, fd);
}

void ktb_direct_close(struct ktb_perfdata *file)
{
	if (file->direct)
		free_direct(file->direct);
	file->direct = NULL;
}

/* A ring fills up, or may: do without waiting for the disk for a while. */
void ktb_direct_pause(struct ktb_direct *direct)
{
	direct->pause_end = ktb_perfdata_now() + PAUSE_NS;
}

/*
 * Whether the page cache may be asked for the rest. It takes what there is room for,
 * and says why if not all: a length that ends at a limit is none for direct I/O, and a
 * full disk fails all of a write. Of a disk's faults, which have many numbers, it would
 * say nothing, and fail when nobody looks.
 */
static bool is_for_cache(int err)
{
	switch (err) {
	case EAGAIN:
	case EDQUOT:
	case EFBIG:
	case EINTR:
	case EINVAL:
	case ENOMEM:
	case ENOSPC:
		return true;
	}
	return false;
}

/* Returns what has reached the file, or a negative errno if that was all. */
static ssize_t write_direct(struct ktb_direct *direct)
{
	const uint64_t begin = ktb_perfdata_now();
	ssize_t done = pwrite(direct->fd, direct->data, BUFFER_SIZE, (off_t)direct->base);
	int err = done < 0 ? errno : 0;

	if (ktb_perfdata_now() - begin >= SLOW_NS)
		ktb_direct_pause(direct);
	if (err && !is_for_cache(err))
		return -err;
	/* The file system promised too much. */
	if (err == EINVAL) {
		close(direct->fd);
		direct->fd = -1;
	}
	return err ? 0 : done;
}

/* Through the page cache, what the file does not have yet. */
static int write_rest(struct ktb_perfdata *file)
{
	struct ktb_direct *direct = file->direct;
	int err = ktb_perfdata_put(file, direct->data + direct->flushed,
				   direct->len - direct->flushed, direct->base + direct->flushed);

	if (!err)
		direct->flushed = direct->len;
	direct->flush_time = ktb_perfdata_now();
	return err;
}

/* What the file has is given up, but for the page that is to be filled. */
static void move_on(struct ktb_direct *direct)
{
	const size_t whole = direct->flushed / ALIGN * ALIGN;

	direct->base += whole;
	direct->len -= whole;
	direct->flushed -= whole;
	memmove(direct->data, direct->data + whole, direct->len);
}

/* Hand on what there is, unless that was done less than @age_ns ago. */
int ktb_direct_flush(struct ktb_perfdata *file, uint64_t age_ns)
{
	struct ktb_direct *direct = file->direct;
	int err;

	if (direct->flushed == direct->len || ktb_perfdata_now() - direct->flush_time < age_ns)
		return 0;
	err = write_rest(file);
	if (!err)
		move_on(direct);
	return err;
}

static int write_full(struct ktb_perfdata *file)
{
	struct ktb_direct *direct = file->direct;
	ssize_t done;
	int err;

	if (direct->fd >= 0 && ktb_perfdata_now() >= direct->pause_end) {
		done = write_direct(direct);
		if (done < 0)
			return (int)done;
		if ((size_t)done > direct->flushed)
			direct->flushed = done;
	}
	err = write_rest(file);
	if (!err)
		move_on(direct);
	return err;
}

/* Returns 0 or a negative errno, and the buffer has some of @data then. */
int ktb_direct_append(struct ktb_perfdata *file, const void *data, size_t len)
{
	struct ktb_direct *direct = file->direct;
	const uint8_t *from = data;
	size_t part;
	int err = 0;

	for (; len && !err; len -= part, from += part) {
		part = BUFFER_SIZE - direct->len;
		if (part > len)
			part = len;
		memcpy(direct->data + direct->len, from, part);
		direct->len += part;
		if (direct->len == BUFFER_SIZE)
			err = write_full(file);
	}
	return err;
}

/*
 * Read records back, whether they have reached the file or not. Returns bytes, less
 * than @len where there are no more, or -1.
 */
ssize_t ktb_direct_read(const struct ktb_perfdata *file, uint8_t *data, size_t len, uint64_t pos)
{
	const struct ktb_direct *direct = file->direct;
	size_t in_file = len, at, left;
	ssize_t n;

	if (direct && pos + len > direct->base)
		in_file = pos < direct->base ? direct->base - pos : 0;
	n = pread(file->fd, data, in_file, (off_t)pos);
	if (n < 0 || (size_t)n < in_file || in_file == len)
		return n;
	at = pos + in_file - direct->base;
	left = at < direct->len ? direct->len - at : 0;
	if (left > len - in_file)
		left = len - in_file;
	memcpy(data + in_file, direct->data + at, left);
	return (ssize_t)(in_file + left);
}
