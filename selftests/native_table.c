// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every native event: that its record is what the running kernel says it is,
 * that none is missing without a reason, and that all of them at once do no
 * harm.
 */
#include "ktb_test.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MODULE		"/ktb/ktrace_bridge.ko"
#define SECTION		".comment.ktb_native"
#define REASONS		"native-events.md"
#define MAX_CLASSES	2048
#define MAX_EVENTS	2048
#define MAX_ATTACHED	1024	/* the module's limit */
#define RING_SIZE	(1 << 20)

/*
 * What the module's file says of its records, see native_probe.h. The lines of
 * a class stand before those of its events; two headers may have a class of one
 * name, the last one before an event is meant.
 */
struct class {
	char name[64];
	unsigned int size;
	struct ktb_format fields;
};

struct event {
	char name[KTRACE_BRIDGE_EVENT_NAME_LEN + 1];
	int class;
};

static struct {
	int nclasses;
	struct class class[MAX_CLASSES];
	int nevents;
	struct event event[MAX_EVENTS];
} table;

static struct ktb_sources sources;

/* A section of an ELF file, as a string to be freed. NULL if there is none. */
static char *read_section(const char *file, const char *name)
{
	const Elf64_Shdr *shdr, *end;
	const Elf64_Ehdr *ehdr;
	char *text = NULL;
	struct stat st;
	const char *map;
	int fd;

	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return NULL;
	map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return NULL;
	ehdr = (const void *)map;
	shdr = (const void *)(map + ehdr->e_shoff);
	for (end = shdr + ehdr->e_shnum; shdr < end && !text; shdr++) {
		const Elf64_Shdr *names = (const Elf64_Shdr *)(map + ehdr->e_shoff) +
					  ehdr->e_shstrndx;

		if (!strcmp(map + names->sh_offset + shdr->sh_name, name))
			text = strndup(map + shdr->sh_offset, shdr->sh_size);
	}
	munmap((void *)map, st.st_size);
	return text;
}

static bool add_field(const char *line, struct class *class)
{
	struct ktb_format *f = &class->fields;
	struct ktb_field *field = &f->field[f->nfields];
	char name[64], *plain = name;

	if (f->nfields == KTB_MAX_FIELDS ||
	    sscanf(line, "field %63s %u %u", name, &field->offset, &field->size) != 3)
		return false;
	if (!strncmp(name, "__data_loc_", 11))
		plain += 11;
	else if (!strncmp(name, "__rel_loc_", 10))
		plain += 10;
	field->data_loc = plain != name;
	if (strlen(plain) >= sizeof(field->name))
		return false;
	memcpy(field->name, plain, strlen(plain) + 1);
	f->nfields++;
	return true;
}

static bool add_event(const char *line)
{
	struct event *e = &table.event[table.nevents];
	char class[64];

	if (table.nevents == MAX_EVENTS || sscanf(line, "event %127s %63s", e->name, class) != 2)
		return false;
	for (e->class = table.nclasses - 1; e->class >= 0; e->class--)
		if (!strcmp(table.class[e->class].name, class))
			break;
	table.nevents++;
	return e->class >= 0;
}

static bool add_class(const char *line)
{
	struct class *c = &table.class[table.nclasses];

	if (table.nclasses == MAX_CLASSES ||
	    sscanf(line, "class %63s %u", c->name, &c->size) != 2)
		return false;
	c->fields.nfields = 0;
	table.nclasses++;
	return true;
}

/* Take a line in; false if it is not one that native_probe.h writes. */
static bool add_line(const char *line)
{
	if (!strncmp(line, "class ", 6))
		return add_class(line);
	if (!strncmp(line, "field ", 6))
		return table.nclasses && add_field(line, &table.class[table.nclasses - 1]);
	return add_event(line);
}

static const struct event *find_event(const char *name)
{
	for (int i = 0; i < table.nevents; i++)
		if (!strcmp(table.event[i].name, name))
			return &table.event[i];
	return NULL;
}

FIXTURE(native)
{
	struct ktb_nl nl;
};

FIXTURE_SETUP(native)
{
	char *text, *line, *next;

	ASSERT_CONTROL(&self->nl);
	ASSERT_EQ(0, ktb_sources_get(&self->nl, &sources));
	text = read_section(MODULE, SECTION);
	ASSERT_NE(NULL, text)
		TH_LOG("no section " SECTION " in " MODULE);
	table.nclasses = 0;
	table.nevents = 0;
	for (line = text; *line; line = next) {
		next = strchrnul(line, '\n');
		if (*next)
			*next++ = '\0';
		ASSERT_TRUE(add_line(line))
			TH_LOG("not understood: '%s'", line);
	}
	free(text);
}

FIXTURE_TEARDOWN(native)
{
	ktb_nl_close(&self->nl);
}

/* The file's description and the loaded module's table are of the same events. */
TEST_F(native, description)
{
	EXPECT_LT(300, table.nevents);
	EXPECT_EQ(sources.count, table.nevents);
	for (int i = 0; i < table.nevents; i++) {
		const struct event *e = &table.event[i];
		const struct ktb_source *s = ktb_source_find(&sources, e->name);

		EXPECT_EQ(e, find_event(e->name))
			TH_LOG("%s is there twice", e->name);
		ASSERT_NE(NULL, s)
			TH_LOG("%s is not listed", e->name);
		EXPECT_EQ(KTB_PATH_NATIVE, s->path);
		EXPECT_EQ(table.class[e->class].size, s->size);
	}
}

/* How many fields of a record differ from those of the running kernel's. */
static int compare_fields(struct __test_metadata *_metadata, const char *event,
			  const struct ktb_format *kernel, const struct ktb_format *ours)
{
	int wrong = 0, own = 0;

	for (int i = 0; i < kernel->nfields; i++) {
		const struct ktb_field *k = &kernel->field[i], *f;

		if (!strncmp(k->name, "common_", 7))
			continue;
		own++;
		f = ktb_format_field(ours, k->name);
		if (f && f->offset == k->offset && f->size == k->size &&
		    f->data_loc == k->data_loc)
			continue;
		wrong++;
		TH_LOG("%s: %s at %u, %u bytes; the module has %d, %d", event, k->name,
		       k->offset, k->size, f ? (int)f->offset : -1, f ? (int)f->size : -1);
	}
	if (own != ours->nfields)
		TH_LOG("%s: %d fields, the module has %d", event, own, ours->nfields);
	return wrong + (own != ours->nfields);
}

/*
 * Each event's number, size and every field against the running kernel. A
 * record of another layout than the running kernel's would be a wrong one.
 */
TEST_F(native, layout)
{
	struct ktb_format f;
	int there = 0;

	for (int i = 0; i < table.nevents; i++) {
		const struct event *e = &table.event[i];
		const struct class *c = &table.class[e->class];
		const struct ktb_source *s = ktb_source_find(&sources, e->name);
		unsigned int end;

		ASSERT_NE(NULL, s);
		if (ktb_format_read(e->name, &f)) {
			EXPECT_EQ(0, s->type)
				TH_LOG("%s is not in tracefs", e->name);
			continue;
		}
		there++;
		end = ktb_format_end(&f);
		EXPECT_EQ(f.id, s->type)
			TH_LOG("%s", e->name);
		EXPECT_TRUE(c->size >= end && c->size < end + sizeof(__u64))
			TH_LOG("%s: size %u, fields end at %u", e->name, c->size, end);
		EXPECT_EQ(0, compare_fields(_metadata, e->name, &f, &c->fields));
	}
	TH_LOG("%d native events, %d of them in this kernel", table.nevents, there);
	EXPECT_LT(300, there);
}

/* A row of the table of omissions: | `event` | kernels | reason | */
struct row {
	char event[KTRACE_BRIDGE_EVENT_NAME_LEN + 1];
	bool everywhere;
	bool no_tracepoint;
};

static struct row row[1024];
static int nrows;

static int read_reasons(void)
{
	FILE *file = fopen(REASONS, "r");
	char line[1024], where[64], why[1024];

	nrows = 0;
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		struct row *r = &row[nrows];

		if (strncmp(line, "| `", 3))
			continue;
		if (nrows == 1024 ||
		    sscanf(line, "| `%127[^`]` | %63[^|]| %1023[^|\n]", r->event, where, why) != 3)
			return -EINVAL;
		r->everywhere = !strcmp(where, "all ");
		r->no_tracepoint = !strncmp(why, "not tracepoints", 15);
		nrows++;
	}
	fclose(file);
	return nrows ? 0 : -ENOENT;
}

/* The first row that names it: itself, or as one of several. */
static const struct row *find_row(const char *event)
{
	for (int i = 0; i < nrows; i++)
		if (!fnmatch(row[i].event, event, 0))
			return &row[i];
	return NULL;
}

struct count {
	int native;
	int omitted;
	int no_tracepoint;
	int unexplained;
};

static void count_event(struct __test_metadata *_metadata, const char *name, struct count *c)
{
	const struct row *r = find_row(name);

	if (find_event(name)) {
		c->native++;
		EXPECT_FALSE(r && r->everywhere)
			TH_LOG("%s is native: " REASONS " has to say where it is not", name);
	} else if (r && r->no_tracepoint) {
		c->no_tracepoint++;
	} else if (r) {
		c->omitted++;
	} else {
		c->unexplained++;
		TH_LOG("%s is not native, and " REASONS " does not say why", name);
	}
}

/* Call count_event() for each event of a system. */
static void count_system(struct __test_metadata *_metadata, const char *system,
			 struct count *c)
{
	char path[512], name[512];
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), KTB_TRACEFS "/events/%s", system);
	dir = opendir(path);
	ASSERT_NE(NULL, dir);
	while ((d = readdir(dir))) {
		if (d->d_type != DT_DIR || d->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s:%s", system, d->d_name);
		count_event(_metadata, name, c);
	}
	closedir(dir);
}

/* Every event of this kernel is native, or omitted for a reason. */
TEST_F(native, none_missing)
{
	struct count all = {};
	struct dirent *d;
	DIR *dir;

	ASSERT_EQ(0, read_reasons());
	dir = opendir(KTB_TRACEFS "/events");
	ASSERT_NE(NULL, dir);
	while ((d = readdir(dir)))
		if (d->d_type == DT_DIR && d->d_name[0] != '.')
			count_system(_metadata, d->d_name, &all);
	closedir(dir);
	TH_LOG("%d native, %d omitted, %d without a tracepoint", all.native, all.omitted,
	       all.no_tracepoint);
	EXPECT_EQ(0, all.unexplained);
}

/* What is attached, and what came of it. */
static struct attached {
	struct ktb_event e;
	struct ktb_format format;
	unsigned int size;
	__u64 samples;
	__u64 wrong;
} attached[MAX_ATTACHED];

static int nattached;

static int compare_id(const void *id, const void *to)
{
	const __u64 a = *(const __u64 *)id, b = ((const struct attached *)to)->e.id;

	return (a > b) - (a < b);
}

/* Ids only grow. */
static struct attached *find_attached(__u64 id)
{
	return bsearch(&id, attached, nattached, sizeof(attached[0]), compare_id);
}

/* Whether the strings and arrays of a record lie in it. */
static bool locs_ok(const struct ktb_format *f, const struct ktb_sample *s)
{
	for (int i = 0; i < f->nfields; i++) {
		const struct ktb_field *field = &f->field[i];
		__u32 loc;

		if (!field->data_loc)
			continue;
		memcpy(&loc, s->raw + field->offset, sizeof(loc));
		/* A __rel_loc counts from its own end. */
		if ((loc & 0xffff) + (loc >> 16) > s->raw_size)
			return false;
	}
	return true;
}

static void check_sample(const struct ktb_sample *s, void *arg)
{
	struct attached *a = find_attached(s->id);
	__u64 *strangers = arg;
	__u16 type;

	if (!a) {
		++*strangers;
		return;
	}
	memcpy(&type, s->raw, sizeof(type));
	a->samples++;
	if (type != a->e.type || s->raw_size < a->size || !locs_ok(&a->format, s))
		a->wrong++;
}

/* Something of everything: memory, files, processes, signals, timers, packets. */
static void work_of_all_kinds(struct ktb_worker *w)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(to);
	char path[] = "/tmp/ktb-native-XXXXXX";
	int file = mkstemp(path), udp = socket(AF_INET, SOCK_DGRAM, 0);

	bind(udp, (void *)&to, sizeof(to));
	getsockname(udp, (void *)&to, &len);
	for (__u64 i = 0; i < w->count; i++) {
		size_t size = 64 << 12;
		char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		pid_t pid;

		memset(memory, i, size);
		if (write(file, memory, size) < 0 || fsync(file))
			w->magic++;
		munmap(memory, size);
		sendto(udp, path, sizeof(path), 0, (void *)&to, sizeof(to));
		if (recv(udp, path, sizeof(path), 0) < 0)
			w->magic++;
		syscall(SYS_tgkill, getpid(), w->tid, SIGURG);
		usleep(1000);
		pid = fork();
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	close(udp);
	close(file);
	unlink(path);
}

static void attach_all(struct __test_metadata *_metadata, FIXTURE_DATA(native) *self,
		       __u32 session)
{
	nattached = 0;
	for (int i = 0; i < sources.count && nattached < MAX_ATTACHED; i++) {
		struct attached *a = &attached[nattached];

		if (!sources.list[i].type)
			continue;
		memset(a, 0, sizeof(*a));
		ASSERT_EQ(0, ktb_format_read(sources.list[i].name, &a->format));
		ASSERT_EQ(0, ktb_event_attach(&self->nl, session, sources.list[i].name, 0, &a->e))
			TH_LOG("%s: %s", sources.list[i].name, self->nl.text);
		EXPECT_EQ(sources.list[i].type, a->e.type);
		a->size = sources.list[i].size;
		nattached++;
	}
}

/*
 * All of them in one session, over some work: each probe runs where it is not
 * alone. Every record is well-formed, each hit is in the books.
 */
TEST_F_TIMEOUT(native, all_at_once, 110)
{
	struct ktb_worker w[KTB_MAX_CPUS] = {};
	struct ktb_ring ring[KTB_MAX_CPUS];
	struct ktb_walk walk = {};
	struct ktb_session s;
	__u64 strangers = 0;
	int fd, done, fired = 0;

	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_native", 0, RING_SIZE, &s));
	ASSERT_EQ(0, ktb_session_enable(&self->nl, s.id, false));
	attach_all(_metadata, self, s.id);
	EXPECT_EQ(nattached, ktb_event_count(&self->nl));
	fd = ktb_dev_open_bind(s.id, -1);
	ASSERT_LE(0, fd);
	for (int i = 0; i < ktb_cpus(); i++) {
		ASSERT_EQ(0, ktb_ring_map(&ring[i], fd, i));
		w[i].cpu = i;
		w[i].work = work_of_all_kinds;
		w[i].count = 20;
		ASSERT_EQ(0, ktb_worker_start(&w[i]));
	}
	ASSERT_EQ(0, ktb_session_enable(&self->nl, s.id, true));
	for (int i = 0; i < ktb_cpus(); i++)
		ktb_worker_go(&w[i]);
	do {
		done = 0;
		for (int i = 0; i < ktb_cpus(); i++) {
			ktb_ring_walk(&ring[i], &walk, check_sample, &strangers);
			done += ktb_worker_done(&w[i]);
		}
	} while (done < ktb_cpus());
	ASSERT_EQ(0, ktb_session_enable(&self->nl, s.id, false));
	for (int i = 0; i < ktb_cpus(); i++) {
		ktb_worker_finish(&w[i]);
		EXPECT_EQ(0, w[i].magic);
		ktb_ring_walk(&ring[i], &walk, check_sample, &strangers);
	}
	EXPECT_EQ(0, walk.malformed);
	EXPECT_EQ(0, strangers);
	for (int i = 0; i < nattached; i++) {
		struct attached *a = &attached[i];

		ASSERT_EQ(0, ktb_event_get(&self->nl, s.id, a->e.id, &a->e));
		EXPECT_LEDGER(&a->e.sum);
		EXPECT_EQ(a->e.sum.written, a->samples)
			TH_LOG("%s", a->e.name);
		EXPECT_EQ(0, a->wrong)
			TH_LOG("%s: %llu of %llu records are wrong", a->e.name, a->wrong,
			       a->samples);
		fired += a->samples != 0;
	}
	TH_LOG("%d attached, %d fired, %llu records", nattached, fired, walk.samples);
	EXPECT_LT(30, fired);
	for (int i = 0; i < ktb_cpus(); i++)
		ktb_ring_unmap(&ring[i]);
	close(fd);
	ASSERT_EQ(0, ktb_session_del(&self->nl, s.id));
	EXPECT_EQ(0, ktb_event_count(&self->nl));
}

TEST_HARNESS_MAIN
