// SPDX-License-Identifier: GPL-2.0-only
/* What is looked at while the workers wait, and what is said of it. */
#include "torture.h"
#include "judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RING_LIMIT	"/sys/module/ktrace_bridge/parameters/ring_limit"
#define KMEMLEAK	"/sys/kernel/debug/kmemleak"
#define REFCNT		"/sys/module/ktrace_bridge/refcnt"

/*
 * What comes and goes with what the kernel does anyway, in KiB. One ring of the
 * smallest size takes 8 on each CPU, and thousands are made.
 */
#define NOISE_SLAB	6144
#define NOISE_VMALLOC	1024
#define NOISE_PERCPU	1024
#define NOISE_AVAILABLE	8192

static int nr_results;
static bool all_well = true;

void result(bool ok, const char *format, ...)
{
	va_list args;

	printf("%sok %d ", ok ? "" : "not ", ++nr_results);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	all_well &= ok;
}

void result_skip(const char *what, const char *why)
{
	printf("ok %d %s # SKIP %s\n", ++nr_results, what, why);
}

bool results_end(void)
{
	printf("1..%d\n", nr_results);
	fflush(stdout);
	return all_well;
}

static void list(struct ktb_nl *nl, __u8 cmd, __u16 attr, __u32 session, struct ids *ids)
{
	int error = dump_ids(nl, cmd, attr, session, ids);

	if (error)
		complain(NULL, "dump %d: %s", cmd, strerror(-error));
}

/* A disabled event: its ledger holds, as do those of its CPUs, and stands still. */
static void judge_event(struct ktb_nl *nl, __u32 session, __u64 id)
{
	struct ktb_event e, again;
	__u64 hits = 0, written = 0;

	if (ktb_event_get(nl, session, id, &e) || ktb_event_get(nl, session, id, &again)) {
		complain(NULL, "event %llu of session %u is gone", id, session);
		return;
	}
	check_ledger(NULL, &e);
	for (int i = 0; i < e.ncpus; i++) {
		hits += e.cpu[i].hits;
		written += e.cpu[i].written;
		if (e.cpu[i].hits != ktb_ledger_sum(&e.cpu[i]))
			complain(NULL, "ledger of %s in session %u on CPU %u does not hold",
				 e.name, session, e.cpu[i].cpu);
	}
	if (hits != e.sum.hits || written != e.sum.written)
		complain(NULL, "ledgers of %s in session %u: the CPUs make %llu of %llu hits",
			 e.name, session, hits, e.sum.hits);
	if (memcmp(&e.sum, &again.sum, sizeof(e.sum)))
		complain(NULL, "ledger of %s in session %u moves while disabled",
			 e.name, session);
}

void judge_ledgers(void)
{
	static struct ids sessions, events;
	struct ktb_nl nl;
	int error;

	error = ktb_nl_open(&nl);
	if (error) {
		complain(NULL, "no control socket: %s", strerror(-error));
		return;
	}
	list(&nl, KTB_CMD_SESSION_GET, KTB_A_SESSION_ID, 0, &sessions);
	for (int i = 0; i < sessions.nr; i++) {
		__u32 session = sessions.id[i];

		error = ktb_session_enable(&nl, session, false);
		if (error)
			complain(NULL, "session %u: disable: %s", session, strerror(-error));
		list(&nl, KTB_CMD_EVENT_GET, KTB_A_EVENT_ID, session, &events);
		for (int j = 0; j < events.nr; j++)
			judge_event(&nl, session, events.id[j]);
	}
	ktb_nl_close(&nl);
}

void judge_fresh_session(void)
{
	struct ktb_event e[NR_EVENTS];
	struct ktb_session s;
	struct ktb_nl nl;
	int i;

	if (ktb_nl_open(&nl))
		return;
	if (session_new(&nl, "t_fresh", KTB_SESSION_DISABLED, 4096, 0, &s))
		complain(NULL, "fresh session: %s", nl.text);
	for (i = 0; i < NR_EVENTS; i++)
		if (attach_plain(&nl, s.id, event_names[i], &e[i]))
			complain(NULL, "fresh session: %s: %s", event_names[i], nl.text);
	sleep_ms(100);
	for (i = 0; i < NR_EVENTS; i++)
		if (ktb_event_get(&nl, s.id, e[i].id, &e[i]) || e[i].sum.hits)
			complain(NULL, "fresh session: %s has %llu hits", event_names[i],
				 e[i].sum.hits);
	ktb_session_del(&nl, s.id);
	ktb_nl_close(&nl);
}

/* No ring is mapped any more: the kernel says who mapped what. */
static void judge_mappings(void)
{
	FILE *f = fopen("/proc/vmallocinfo", "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, " vmap") && strstr(line, "[" MODULE "]"))
			complain(NULL, "a ring is left: %.150s", line);
	if (f)
		fclose(f);
	else
		complain(NULL, "no /proc/vmallocinfo");
}

/* With room for one page per CPU, a session of that fits if nothing is charged. */
static void judge_charges(struct ktb_nl *nl)
{
	char limit[24], before[24];

	snprintf(limit, sizeof(limit), "%d", 4096 * CPUS);
	if (read_file(RING_LIMIT, before, sizeof(before)) < 0 ||
	    ktb_write_file(RING_LIMIT, limit)) {
		complain(NULL, "no parameter ring_limit");
		return;
	}
	if (session_new(nl, "t_charge", 0, 4096, 0, NULL))
		complain(NULL, "rings of sessions that are gone are charged for: %s", nl->text);
	ktb_write_file(RING_LIMIT, before);
}

void judge_no_sessions(void)
{
	struct ktb_nl nl;

	if (ktb_nl_open(&nl))
		return;
	ktb_session_sweep(&nl);
	if (ktb_session_count(&nl) || ktb_event_count(&nl))
		complain(NULL, "sessions or events cannot be removed");
	judge_mappings();
	judge_charges(&nl);
	ktb_nl_close(&nl);
}

void judge_unload(void)
{
	char text[24];
	int error;

	if (read_file(REFCNT, text, sizeof(text)) < 0 || atoi(text))
		complain(NULL, "nobody uses the module, whose reference count is %s", text);
	error = module_unload(MODULE);
	if (error)
		complain(NULL, "nobody uses the module, and unload says %s", strerror(-error));
	else
		__atomic_fetch_add(&shared->ran[A_UNLOAD], 1, __ATOMIC_RELAXED);
	if (module_loaded(MODULE) || access(KTB_DEVICE, F_OK) == 0)
		complain(NULL, "something of the module is left");
}

static char first_users[4096];

static void read_users(char *text, size_t size)
{
	int error = module_load(TEST_FILE);

	if (error || read_file(TEST_USERS, text, size) < 0)
		complain(NULL, "cannot tell who uses tracepoints: %s", strerror(-error));
	module_unload(TEST_MODULE);
}

void judge_probes_first(void)
{
	read_users(first_users, sizeof(first_users));
}

void judge_probes(void)
{
	char users[sizeof(first_users)];

	read_users(users, sizeof(users));
	if (strcmp(users, first_users))
		complain(NULL, "tracepoints have probes: %.100s, not %.60s", users, first_users);
}

static long long mem_kib(const char *key)
{
	static char text[8192];
	const char *at;

	if (read_file("/proc/meminfo", text, sizeof(text)) < 0)
		return -1;
	at = strstr(text, key);
	return at ? atoll(at + strlen(key)) : -1;
}

/* Free pages that the CPUs keep for themselves, up to an eighth of the memory. */
static long long kept_by_cpus_kib(void)
{
	FILE *file = fopen("/proc/zoneinfo", "r");
	long long pages = 0, count;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, " count: %lld", &count) == 1)
			pages += count;
	if (file)
		fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* After what is given back lazily has been given back. */
struct memory memory_now(void)
{
	struct memory m;

	for (int i = 0; i < 3; i++) {
		sync();
		ktb_write_file("/proc/sys/vm/drop_caches", "3");
		sleep_ms(500);
	}
	m.slab = mem_kib("Slab:");
	m.vmalloc = mem_kib("VmallocUsed:");
	m.percpu = mem_kib("Percpu:");
	m.available = mem_kib("MemAvailable:") + kept_by_cpus_kib();
	printf("# memory, KiB: slab %lld, vmalloc %lld, per CPU %lld, available %lld\n",
	       m.slab, m.vmalloc, m.percpu, m.available);
	fflush(stdout);
	return m;
}

void judge_memory(const struct memory *first, const struct memory *last)
{
	/* KASAN keeps what was freed, up to a 32nd of memory; kmemleak's notes, too. */
	long long kept = access(KMEMLEAK, F_OK) ? 0 : mem_kib("MemTotal:") / 32;
	const struct {
		const char *name;
		long long grown, noise;
	} what[] = {
		{ "Slab", last->slab - first->slab, NOISE_SLAB + kept },
		{ "VmallocUsed", last->vmalloc - first->vmalloc, NOISE_VMALLOC },
		{ "Percpu", last->percpu - first->percpu, NOISE_PERCPU },
		{ "memory in use", first->available - last->available, NOISE_AVAILABLE + kept },
	};

	for (size_t i = 0; i < ARRAY_SIZE(what); i++)
		result(what[i].grown <= what[i].noise, "%s grew by %lld KiB, %lld are noise",
		       what[i].name, what[i].grown, what[i].noise);
}

static bool needs_faults(int action)
{
	return action == A_FAULT_CONTROL || action == A_FAULT_READER ||
	       action == A_FAULT_REFUSED;
}

int actions_missing(bool with_faults)
{
	int missing = 0;

	for (int i = 0; i < NR_ACTIONS; i++)
		missing += !shared->ran[i] && (with_faults || !needs_faults(i));
	return missing;
}

void judge_actions(bool with_faults)
{
	int missing = actions_missing(with_faults);

	printf("# %-24s %10s %10s\n", "action", "done", "refused");
	for (int i = 0; i < NR_ACTIONS; i++) {
		const char *note = shared->ran[i] ? "" : "  NEVER";

		if (needs_faults(i) && !with_faults)
			note = "  (this kernel has no failslab)";
		printf("# %-24s %10llu %10llu%s\n", action_name(i), shared->ran[i],
		       shared->refused[i], note);
	}
	result(!missing, "each action ran (%d did not)", missing);
}
