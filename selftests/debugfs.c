// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files for people: sysfs of the PMU and text in debugfs, a test for each row
 * of Documentation/filesystem.md.
 */
#include "ktb_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#define DEVICES		"/sys/bus/event_source/devices"
#define DEBUGFS		"/sys/kernel/debug/ktrace_bridge"
#define ENTER		"raw_syscalls:sys_enter"
#define HITS		50

/* Read a file of text. Its length, or a negative error number. */
static int slurp(const char *path, char *text, int size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), length = 0, n = 1;

	if (fd < 0)
		return -errno;
	while (n > 0 && length < size - 1) {
		n = read(fd, text + length, size - 1 - length);
		length += n > 0 ? n : 0;
	}
	text[length] = '\0';
	close(fd);
	return n < 0 ? -errno : length;
}

/* The number after a word at the beginning of a line, ~0 if there is none. */
static __u64 number_of(const char *text, const char *word)
{
	const char *line;

	for (line = text; line; line = strchr(line, '\n')) {
		line += strspn(line, "\n ");
		if (!strncmp(line, word, strlen(word)) && line[strlen(word)] == ':')
			return strtoull(line + strlen(word) + 1, NULL, 10);
		if (!*line)
			break;
	}
	return ~0ULL;
}

static char text[65536], more[65536];

FIXTURE(files)
{
	struct ktb_nl nl;
};

FIXTURE_SETUP(files)
{
	ASSERT_CONTROL(&self->nl);
}

FIXTURE_TEARDOWN(files)
{
	ktb_nl_close(&self->nl);
}

TEST_F(files, pmu_beside_the_kernels)
{
	EXPECT_EQ(0, access(DEVICES "/ktrace_bridge/type", R_OK));
	EXPECT_EQ(0, access(DEVICES "/tracepoint/type", R_OK));
	EXPECT_EQ(0, access(DEVICES "/software/type", R_OK));
	EXPECT_LT(PERF_TYPE_MAX - 1, ktb_pmu_type());
	/* It takes events on any CPU: no mask of some. */
	EXPECT_EQ(-1, access(DEVICES "/ktrace_bridge/cpumask", F_OK));
}

TEST_F(files, format)
{
	ASSERT_LT(0, slurp(KTB_PMU "/format/event", text, sizeof(text)));
	EXPECT_STREQ("config:0-63\n", text);
	EXPECT_EQ(-1, access(KTB_PMU "/format/event", X_OK));
}

/* Every native event of this kernel, with the id that tracefs says. */
TEST_F(files, events)
{
	DIR *dir = opendir(KTB_PMU "/events");
	struct dirent *entry;
	int count = 0;

	ASSERT_NE(NULL, dir);
	while ((entry = readdir(dir))) {
		char path[512], wanted[64];

		if (entry->d_name[0] == '.')
			continue;
		count++;
		ASSERT_NE(NULL, strchr(entry->d_name, ':'))
			TH_LOG("%s", entry->d_name);
		snprintf(path, sizeof(path), KTB_PMU "/events/%s", entry->d_name);
		snprintf(wanted, sizeof(wanted), "event=0x%x\n",
			 ktb_tracepoint_id(entry->d_name));
		EXPECT_LT(0, slurp(path, text, sizeof(text)));
		EXPECT_STREQ(wanted, text);
	}
	closedir(dir);
	EXPECT_LT(90, count);
	EXPECT_EQ(0, access(KTB_PMU "/events/" ENTER, R_OK));
}

/* What config means: an id of tracefs is that of the events' records. */
TEST_F(files, id_and_format_of_tracefs)
{
	int id = ktb_tracepoint_id(ENTER);

	ASSERT_LT(0, slurp(KTB_TRACEFS "/events/raw_syscalls/sys_enter/id", text, sizeof(text)));
	EXPECT_EQ(id, atoi(text));
	ASSERT_LT(0, slurp(KTB_TRACEFS "/events/raw_syscalls/sys_enter/format", text,
			   sizeof(text)));
	EXPECT_NE(NULL, strstr(text, "field:unsigned short common_type;"));
}

TEST_F(files, modes)
{
	static const char * const files[] = {
		DEBUGFS "/sessions",
		DEBUGFS "/per_cpu/cpu0/stats",
		DEBUGFS "/per_cpu/cpu0/sessions",
	};
	struct stat st;
	int fd;

	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, stat(files[i], &st));
		EXPECT_EQ(S_IFREG | 0400, st.st_mode);
		EXPECT_EQ(0, st.st_uid);
		/* Root may open anything; there is nothing that would take it. */
		fd = open(files[i], O_WRONLY | O_CLOEXEC);
		EXPECT_GT(0, write(fd, "1", 1));
		close(fd);
	}
}

/* A directory for each CPU that there can be, no more. */
TEST_F(files, every_cpu)
{
	int cpus = sysconf(_SC_NPROCESSORS_CONF);
	char path[128];

	for (int cpu = 0; cpu < cpus; cpu++) {
		snprintf(path, sizeof(path), DEBUGFS "/per_cpu/cpu%d/stats", cpu);
		EXPECT_LT(0, slurp(path, text, sizeof(text)));
		EXPECT_EQ(1, number_of(text, "online"));
	}
	snprintf(path, sizeof(path), DEBUGFS "/per_cpu/cpu%d", cpus);
	EXPECT_EQ(-1, access(path, F_OK));
}

TEST_F(files, empty)
{
	if (ktb_session_count(&self->nl))
		SKIP(return, "somebody has a session");
	EXPECT_EQ(0, slurp(DEBUGFS "/sessions", text, sizeof(text)));
	EXPECT_EQ(0, slurp(DEBUGFS "/per_cpu/cpu0/sessions", text, sizeof(text)));
	ASSERT_LT(0, slurp(DEBUGFS "/per_cpu/cpu0/stats", text, sizeof(text)));
	EXPECT_EQ(0, number_of(text, "sessions"));
	EXPECT_EQ(0, number_of(text, "hits"));
}

/* The text says what the control channel says. */
TEST_F(files, session)
{
	struct ktb_worker w = { .work = ktb_work_syscalls, .count = HITS, .cpu = 0 };
	struct ktb_session s;
	struct ktb_event e;
	char line[128];

	if (ktb_session_count(&self->nl))
		SKIP(return, "somebody has a session");
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_text", KTB_SESSION_PERSISTENT, 65536, &s));
	ASSERT_EQ(0, ktb_worker_start(&w));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, s.id, ENTER, w.tid, &e));
	ktb_worker_go(&w);
	ASSERT_TRUE(ktb_worker_wait(&w));
	ASSERT_EQ(0, ktb_event_enable(&self->nl, s.id, e.id, false));
	ktb_worker_finish(&w);
	ASSERT_EQ(0, ktb_event_get(&self->nl, s.id, e.id, &e));

	ASSERT_LT(0, slurp(DEBUGFS "/sessions", text, sizeof(text)));
	snprintf(line, sizeof(line), "session t_text id %u: enabled, persistent\n", s.id);
	EXPECT_EQ(0, strncmp(text, line, strlen(line)))
		TH_LOG("%s", text);
	EXPECT_EQ(s.ring_size, number_of(text, "ring size"));
	snprintf(line, sizeof(line), "  event " ENTER " id %llu: disabled\n", e.id);
	EXPECT_NE(NULL, strstr(text, line))
		TH_LOG("%s", text);
	EXPECT_EQ(e.sum.hits, number_of(text, "hits"));
	EXPECT_EQ(HITS, number_of(text, "written"));
	EXPECT_EQ(e.sum.filtered, number_of(text, "filtered"));
	EXPECT_EQ(e.sum.count, number_of(text, "count"));

	ASSERT_LT(0, slurp(DEBUGFS "/per_cpu/cpu0/sessions", text, sizeof(text)));
	ASSERT_LT(0, slurp(DEBUGFS "/per_cpu/cpu0/stats", more, sizeof(more)));
	EXPECT_EQ(HITS, number_of(text, "written"));
	EXPECT_EQ(HITS, number_of(more, "written"));
	EXPECT_EQ(number_of(text, "hits"), number_of(more, "hits"));
	ASSERT_EQ(0, ktb_session_get(&self->nl, s.id, &s));
	EXPECT_EQ(s.ring[0].head - s.ring[0].tail, number_of(text, "unread"));
	EXPECT_EQ(s.ring[0].head - s.ring[0].tail, number_of(more, "unread"));
	EXPECT_EQ(1, number_of(more, "sessions"));
	EXPECT_EQ(1, number_of(more, "events"));
	EXPECT_EQ(0, ktb_session_del(&self->nl, s.id));
}

static void come_and_go(struct ktb_worker *w)
{
	struct ktb_session s;
	struct ktb_nl nl;
	int error = ktb_nl_open(&nl);

	for (__u64 n = 0; n < w->count && !error; n++) {
		error = ktb_session_new(&nl, "t_guest", 0, 4096, &s);
		error = error ?: ktb_event_attach(&nl, s.id, ENTER, 0, NULL);
		error = error ?: ktb_session_del(&nl, s.id);
	}
	ktb_nl_close(&nl);
	w->magic = -error;
}

/* Read while sessions come and go: whole lines, and no harm done. */
TEST_F_TIMEOUT(files, read_meanwhile, 60)
{
	struct ktb_worker w = { .work = come_and_go, .count = 100, .cpu = ktb_cpus() - 1 };
	int seen = 0;

	ASSERT_EQ(0, ktb_worker_start(&w));
	ktb_worker_go(&w);
	while (!ktb_worker_done(&w)) {
		int length = slurp(DEBUGFS "/sessions", text, sizeof(text));

		ASSERT_LE(0, length);
		EXPECT_TRUE(!length || text[length - 1] == '\n');
		seen += !!strstr(text, "session t_guest");
		EXPECT_LE(0, slurp(DEBUGFS "/per_cpu/cpu0/sessions", text, sizeof(text)));
		EXPECT_LE(0, slurp(DEBUGFS "/per_cpu/cpu1/stats", text, sizeof(text)));
	}
	ktb_worker_finish(&w);
	EXPECT_EQ(0, w.magic);
	EXPECT_LT(0, seen);
}

/* An open file keeps the module; with it, all of them are gone. */
TEST_F(files, unload)
{
	int fd = open(DEBUGFS "/sessions", O_RDONLY | O_CLOEXEC);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, syscall(SYS_delete_module, "ktrace_bridge", O_NONBLOCK));
	EXPECT_EQ(EWOULDBLOCK, errno);
	close(fd);
	ASSERT_EQ(0, syscall(SYS_delete_module, "ktrace_bridge", O_NONBLOCK));
	EXPECT_EQ(-1, access(DEBUGFS, F_OK));
	EXPECT_EQ(-1, access(KTB_PMU, F_OK));
	fd = open("/ktb/ktrace_bridge.ko", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, syscall(SYS_finit_module, fd, "", 0));
	close(fd);
	EXPECT_EQ(0, access(DEBUGFS "/sessions", R_OK));
}

/* Short names on request, for a perf that can bear them. */
TEST_F(files, short_names)
{
	int fd = open("/ktb/ktrace_bridge.ko", O_RDONLY | O_CLOEXEC);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, access(KTB_PMU "/events/sys_enter", F_OK));
	ASSERT_EQ(0, syscall(SYS_delete_module, "ktrace_bridge", O_NONBLOCK));
	ASSERT_EQ(0, syscall(SYS_finit_module, fd, "pmu_short_names=1", 0));
	EXPECT_LT(0, slurp(KTB_PMU "/events/" ENTER, text, sizeof(text)));
	EXPECT_LT(0, slurp(KTB_PMU "/events/sys_enter", more, sizeof(more)));
	EXPECT_STREQ(text, more);
	ASSERT_EQ(0, syscall(SYS_delete_module, "ktrace_bridge", O_NONBLOCK));
	EXPECT_EQ(0, syscall(SYS_finit_module, fd, "", 0));
	close(fd);
}

TEST_HARNESS_MAIN
