// SPDX-License-Identifier: LGPL-2.1-only
/* A reader of a session: the device's descriptor and the rings mapped from it. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "internal.h"

#define DEVICE "/dev/ktrace_bridge"

struct ktb_reader *ktb_reader_new(void)
{
	struct ktb_reader *reader = calloc(1, sizeof(*reader));

	if (reader)
		reader->fd = -1;
	return reader;
}

void ktb_reader_exclude_self(struct ktb_reader *reader)
{
	reader->exclude_self = true;
}

static void reader_close(struct ktb_reader *reader)
{
	for (unsigned int i = 0; i < reader->nr_rings; i++) {
		ktb_ring_unmap(reader->rings[i]);
		free(reader->rings[i]);
	}
	free(reader->rings);
	reader->rings = NULL;
	reader->nr_rings = 0;
	if (reader->fd >= 0)
		close(reader->fd);
	reader->fd = -1;
}

void ktb_reader_free(struct ktb_reader *reader)
{
	if (!reader)
		return;
	reader_close(reader);
	free(reader);
}

const char *ktb_reader_error(const struct ktb_reader *reader)
{
	return reader->error;
}

/* Keep the text of a failure. Returns @err. */
int ktb_reader_fail(struct ktb_reader *reader, int err, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(reader->error, sizeof(reader->error), format, ap);
	va_end(ap);
	return err;
}

/* What an errno means at one place, and what to do about it. */
struct reason {
	int err;
	const char *text;
};

static const struct reason open_reasons[] = {
	{ ENOENT, KTB_NOT_LOADED },
	{ ENXIO, KTB_NOT_LOADED },
	{ ENODEV, KTB_NOT_LOADED },
	{ EACCES, "no permission to open " DEVICE ": its mode allows root only" },
	{ EPERM,
	  "no permission to open " DEVICE
	  ": this needs CAP_PERFMON or CAP_SYS_ADMIN, and a kernel that is not locked down" },
	{ 0 },
};

static const struct reason bind_reasons[] = {
	{ ENOENT, "there is no such session" },
	{ ENXIO, "the CPU does not exist or has no ring" },
	{ EBUSY, "another reader reads the session" },
	{ ENODATA, "the session only counts: it has no records to read" },
	{ 0 },
};

static const struct reason map_reasons[] = {
	{ EPROTO, "unknown layout of the rings: use the tools of the module's version" },
	{ EOPNOTSUPP, "the session keeps the newest records: it is read by snapshot" },
	{ EIO, "the read position is damaged: detach the session and attach it anew" },
	{ 0 },
};

static const struct reason map_overwrite_reasons[] = {
	{ EPROTO, "unknown layout of the rings: use the tools of the module's version" },
	{ EOPNOTSUPP, "the session does not overwrite: it has no snapshots" },
	{ 0 },
};

static const char *reason_text(const struct reason *reasons, int err)
{
	for (; reasons->err; reasons++)
		if (reasons->err == err)
			return reasons->text;
	return strerror(err);
}

static int open_device(struct ktb_reader *reader)
{
	int err;

	reader->fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (reader->fd >= 0)
		return 0;
	err = errno;
	ktb_reader_fail(reader, -err, "%s", reason_text(open_reasons, err));
	return err == ENOENT || err == ENXIO ? -ENODEV : -err;
}

static int bind_session(struct ktb_reader *reader, uint32_t session, int cpu)
{
	struct ktb_bind bind = {
		.session = session,
		.cpu = cpu,
		.flags = reader->exclude_self ? KTB_BIND_EXCLUDE_SELF : 0,
	};
	int err;

	reader->cpu = cpu;
	if (!ioctl(reader->fd, KTB_IOC_BIND, &bind))
		return 0;
	err = errno;
	if (cpu < 0)
		return ktb_reader_fail(reader, -err, "cannot read session %u: %s", session,
				       reason_text(bind_reasons, err));
	return ktb_reader_fail(reader, -err, "cannot read CPU %d of session %u: %s", cpu, session,
			       reason_text(bind_reasons, err));
}

static int fail_map(struct ktb_reader *reader, int err, unsigned int cpu)
{
	const struct reason *reasons = reader->overwrite ? map_overwrite_reasons : map_reasons;

	return ktb_reader_fail(reader, err, "cannot map the ring of CPU %u: %s", cpu,
			       reason_text(reasons, -err));
}

/* Returns 1, 0 if the CPU has no ring, or a negative errno. */
static int map_cpu(struct ktb_reader *reader, unsigned int cpu)
{
	struct ktb_ring **all, *ring;
	int err;

	all = ktb_array_more(reader->rings, reader->nr_rings, sizeof(*all));
	if (!all)
		return ktb_reader_fail(reader, -ENOMEM, "out of memory");
	reader->rings = all;
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return ktb_reader_fail(reader, -ENOMEM, "out of memory");
	ring->overwrite = reader->overwrite;
	err = ktb_ring_map(ring, reader->fd, cpu);
	if (err) {
		free(ring);
		return err == -ENXIO ? 0 : fail_map(reader, err, cpu);
	}
	all[reader->nr_rings++] = ring;
	return 1;
}

static bool is_mapped(const struct ktb_reader *reader, unsigned int cpu)
{
	for (unsigned int i = 0; i < reader->nr_rings; i++)
		if (reader->rings[i]->cpu == cpu)
			return true;
	return false;
}

/* One more than the highest CPU there can be: the last number of "0-3,8-11". */
static unsigned int cpu_limit(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/possible", "re");
	unsigned int cpu, limit = 0;

	if (!file)
		return sysconf(_SC_NPROCESSORS_CONF);
	while (fscanf(file, "%u%*[-,]", &cpu) == 1)
		limit = cpu + 1;
	fclose(file);
	return limit;
}

int ktb_reader_refresh(struct ktb_reader *reader)
{
	unsigned int first = 0, limit, cpu;
	int err, nr = 0;

	limit = cpu_limit();
	if (reader->cpu >= 0) {
		first = reader->cpu;
		limit = first + 1;
	}
	for (cpu = first; cpu < limit; cpu++) {
		if (is_mapped(reader, cpu))
			continue;
		err = map_cpu(reader, cpu);
		if (err < 0)
			return err;
		nr += err;
	}
	return nr;
}

static int open_session(struct ktb_reader *reader, uint32_t session, int cpu, bool overwrite)
{
	int err;

	reader->error[0] = 0;
	if (reader->fd >= 0)
		return ktb_reader_fail(reader, -EALREADY, "the reader is open");
	reader->overwrite = overwrite;
	err = open_device(reader);
	if (!err)
		err = bind_session(reader, session, cpu);
	if (!err)
		err = ktb_reader_refresh(reader);
	if (!err)
		err = ktb_reader_fail(reader, -ENXIO, "session %u has no rings", session);
	if (err < 0) {
		reader_close(reader);
		return err;
	}
	return 0;
}

int ktb_reader_open(struct ktb_reader *reader, uint32_t session, int cpu)
{
	return open_session(reader, session, cpu, false);
}

int ktb_reader_open_overwrite(struct ktb_reader *reader, uint32_t session, int cpu)
{
	return open_session(reader, session, cpu, true);
}

int ktb_reader_fd(const struct ktb_reader *reader)
{
	return reader->fd;
}

unsigned int ktb_reader_nr_rings(const struct ktb_reader *reader)
{
	return reader->nr_rings;
}

struct ktb_ring *ktb_reader_ring(const struct ktb_reader *reader, unsigned int index)
{
	return index < reader->nr_rings ? reader->rings[index] : NULL;
}

uint64_t ktb_reader_sample_type(const struct ktb_reader *reader)
{
	return reader->nr_rings ? reader->rings[0]->sample_type : 0;
}

uint64_t ktb_reader_lost(const struct ktb_reader *reader)
{
	uint64_t lost = 0;

	for (unsigned int i = 0; i < reader->nr_rings; i++)
		lost += ktb_ring_lost(reader->rings[i]);
	return lost;
}
