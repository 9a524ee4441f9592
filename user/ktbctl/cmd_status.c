// SPDX-License-Identifier: GPL-2.0-only
/* ktbctl status: sessions, their events, rings and readers. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ktbctl.h"

static const char help_status[] =
	"usage: ktbctl status [-s SESSION] [--per-cpu] [--json]\n"
	"\n"
	"Show sessions, the ledger of each event, the rings, and who reads them. A\n"
	"ledger accounts for every hit: hits = written + filtered + not sampled + lost,\n"
	"exactly, whenever the event is quiet.\n"
	"\n"
	"  -s, --session S   one session; all if not given\n"
	"      --per-cpu     the ledgers of each CPU too\n"
	"      --json        print JSON\n";

struct status {
	const struct context *context;
	struct ktb_conn *conn;
	const char *name; /* of one session, or NULL */
	bool per_cpu;
	struct json_object *sessions;
};

/*
 * A reader may have written anything into its position. An overwrite session's
 * positions count down from 0, and what is there stays.
 */
static bool unread(const struct ktb_session_info *session, const struct ktb_ring_info *ring,
		   uint64_t *bytes)
{
	if (session->flags & KTB_SESSION_OVERWRITE) {
		*bytes = 0 - ring->head < ring->size ? 0 - ring->head : ring->size;
		return true;
	}
	*bytes = ring->head - ring->tail;
	return *bytes <= ring->size;
}

/* ---- as text ---- */

static void print_session(const struct ktb_session_info *session)
{
	char size[32];

	printf("session %s (%u): %s, ", session->name, session->id,
	       session->enabled ? "enabled" : "disabled");
	if (session->flags & KTB_SESSION_PERSISTENT)
		printf("persistent, ");
	else
		printf("owned by process %u, ", session->owner);
	if (session->flags & KTB_SESSION_COUNT_ONLY)
		printf("counting only, ");
	else
		printf("%s%s per CPU, ", session->flags & KTB_SESSION_OVERWRITE ? "newest " : "",
		       size_text(session->ring_size, size, sizeof(size)));
	if (session->max_stack)
		printf("callchains of up to %u frames, ", session->max_stack);
	printf("%u event%s\n", session->nr_events, session->nr_events == 1 ? "" : "s");
}

static void print_targets(const char *what, const uint32_t *ids, unsigned int nr, bool inherit)
{
	if (!nr)
		return;
	printf("    only %s", what);
	for (unsigned int i = 0; i < nr; i++)
		printf("%s%u", i ? "," : " ", ids[i]);
	puts(inherit ? " and what it makes" : "");
}

static void print_cgroup(const char *cgroup)
{
	char clean[KTRACE_BRIDGE_CGROUP_LEN + 1];

	printf("    only in control group %s\n",
	       clean_text(cgroup, strlen(cgroup), clean, sizeof(clean)));
}

static void print_program(const struct ktb_event_info *event)
{
	const char *text = event->program_text ? event->program_text : "";
	char clean[KTRACE_BRIDGE_PROGRAM_TEXT_LEN + 1];

	clean_text(text, strlen(text), clean, sizeof(clean));
	printf("    only what BPF program %u takes%s%s\n", event->program, *clean ? ": " : "",
	       clean);
}

/* What is not as usual. */
static void print_options(const struct ktb_event_info *event)
{
	if (!event->enabled)
		puts("    disabled");
	if (event->period > 1)
		printf("    every %" PRIu64 "th hit makes a record\n", event->period);
	print_targets("process", event->pids, event->nr_pids, event->inherit);
	print_targets("thread", event->tids, event->nr_tids, event->inherit);
	if (event->cpus)
		printf("    only on CPU %s\n", event->cpus);
	if (event->cgroup)
		print_cgroup(event->cgroup);
	if (event->program)
		print_program(event);
}

static void print_event(const struct ktb_event_info *event, int width)
{
	char cpu[32];

	print_ledger(width, event->name, path_text(event->path), &event->ledger);
	for (unsigned int i = 0; i < event->nr_cpu_ledgers; i++) {
		snprintf(cpu, sizeof(cpu), "  CPU %d", event->cpu_ledgers[i].cpu);
		print_ledger(width, cpu, "", &event->cpu_ledgers[i]);
	}
	print_options(event);
}

static void print_ring(const struct ktb_session_info *session, const struct ktb_ring_info *ring)
{
	char size[32], text[32] = "damaged";
	uint64_t bytes;

	if (unread(session, ring, &bytes))
		snprintf(text, sizeof(text), "%" PRIu64, bytes);
	printf("  %-6u %8s %12s %12" PRIu64 " %12" PRIu64 " %s\n", ring->cpu,
	       size_text(ring->size, size, sizeof(size)), text, ring->lost, ring->wakeups,
	       ring->online ? "online" : "offline");
}

static void print_reader(const struct ktb_reader_info *reader)
{
	char comm[64];

	clean_text(reader->comm, sizeof(reader->comm), comm, sizeof(comm));
	if (reader->cpu < 0)
		printf("  reader: process %u (%s), all CPUs\n", reader->pid, comm);
	else
		printf("  reader: process %u (%s), CPU %d\n", reader->pid, comm, reader->cpu);
}

static void print_all(const struct ktb_session_info *session, const struct ktb_event_info *events,
		      int nr_events)
{
	int width = ledger_width(events, nr_events);

	print_session(session);
	if (nr_events)
		print_ledger_head(width);
	for (int i = 0; i < nr_events; i++)
		print_event(&events[i], width);
	if (session->nr_rings)
		printf("  %-6s %8s %12s %12s %12s\n", "CPU", "SIZE", "UNREAD", "LOST", "WAKEUPS");
	for (unsigned int i = 0; i < session->nr_rings; i++)
		print_ring(session, &session->rings[i]);
	for (unsigned int i = 0; i < session->nr_readers; i++)
		print_reader(&session->readers[i]);
}

/* ---- as JSON ---- */

static void add_u64(struct json_object *object, const char *name, uint64_t value)
{
	json_object_object_add(object, name, json_object_new_uint64(value));
}

static void add_bool(struct json_object *object, const char *name, bool value)
{
	json_object_object_add(object, name, json_object_new_boolean(value));
}

static void add_ids(struct json_object *object, const char *name, const uint32_t *ids,
		    unsigned int nr)
{
	struct json_object *list;

	if (!nr)
		return;
	list = json_object_new_array();
	for (unsigned int i = 0; i < nr; i++)
		json_object_array_add(list, json_object_new_int64(ids[i]));
	json_object_object_add(object, name, list);
}

static void add_limits(struct json_object *object, const struct ktb_event_info *event)
{
	add_ids(object, "pids", event->pids, event->nr_pids);
	add_ids(object, "tids", event->tids, event->nr_tids);
	if (event->nr_pids || event->nr_tids)
		add_bool(object, "inherit", event->inherit);
	if (event->cpus)
		json_object_object_add(object, "cpus", json_text(event->cpus, strlen(event->cpus)));
	if (event->cgroup)
		json_object_object_add(object, "cgroup",
				       json_text(event->cgroup, strlen(event->cgroup)));
	if (event->program)
		add_u64(object, "program", event->program);
	if (event->program_text)
		json_object_object_add(object, "program_text",
				       json_text(event->program_text, strlen(event->program_text)));
}

static struct json_object *json_events(const struct ktb_event_info *events, int nr)
{
	struct json_object *list = json_object_new_array(), *object, *cpus;

	for (int i = 0; i < nr; i++) {
		object = json_event(&events[i]);
		add_bool(object, "enabled", events[i].enabled);
		add_u64(object, "period", events[i].period);
		add_limits(object, &events[i]);
		json_object_object_add(object, "ledger", json_ledger(&events[i].ledger));
		cpus = json_object_new_array();
		for (unsigned int j = 0; j < events[i].nr_cpu_ledgers; j++)
			json_object_array_add(cpus, json_ledger(&events[i].cpu_ledgers[j]));
		json_object_object_add(object, "cpu_ledgers", cpus);
		json_object_array_add(list, object);
	}
	return list;
}

static struct json_object *json_rings(const struct ktb_session_info *session)
{
	struct json_object *list = json_object_new_array(), *object;
	uint64_t bytes;
	bool sound;

	for (unsigned int i = 0; i < session->nr_rings; i++) {
		const struct ktb_ring_info *ring = &session->rings[i];

		object = json_object_new_object();
		add_u64(object, "cpu", ring->cpu);
		add_bool(object, "online", ring->online);
		add_u64(object, "size", ring->size);
		add_u64(object, "head", ring->head);
		add_u64(object, "tail", ring->tail);
		sound = unread(session, ring, &bytes);
		json_object_object_add(object, "unread",
				       sound ? json_object_new_uint64(bytes) : NULL);
		add_u64(object, "lost", ring->lost);
		add_u64(object, "wakeups", ring->wakeups);
		json_object_array_add(list, object);
	}
	return list;
}

static struct json_object *json_readers(const struct ktb_session_info *session)
{
	struct json_object *list = json_object_new_array(), *object;

	for (unsigned int i = 0; i < session->nr_readers; i++) {
		const struct ktb_reader_info *reader = &session->readers[i];

		object = json_object_new_object();
		add_u64(object, "pid", reader->pid);
		json_object_object_add(object, "comm",
				       json_text(reader->comm, strlen(reader->comm)));
		json_object_object_add(object, "cpu", json_object_new_int(reader->cpu));
		json_object_array_add(list, object);
	}
	return list;
}

static struct json_object *json_session(const struct ktb_session_info *session)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "name", json_text(session->name, strlen(session->name)));
	add_u64(object, "id", session->id);
	add_bool(object, "enabled", session->enabled);
	add_bool(object, "persistent", session->flags & KTB_SESSION_PERSISTENT);
	add_bool(object, "overwrite", session->flags & KTB_SESSION_OVERWRITE);
	add_bool(object, "count_only", session->flags & KTB_SESSION_COUNT_ONLY);
	if (session->owner)
		add_u64(object, "owner", session->owner);
	add_u64(object, "ring_size", session->ring_size);
	add_u64(object, "watermark", session->watermark);
	add_u64(object, "sample_type", session->sample_type);
	if (session->max_stack)
		add_u64(object, "max_stack", session->max_stack);
	json_object_object_add(object, "rings", json_rings(session));
	json_object_object_add(object, "readers", json_readers(session));
	return object;
}

/* ---- the command ---- */

static int show_session(struct status *status, const struct ktb_session_info *session)
{
	struct ktb_event_info *events;
	struct json_object *object;
	int nr;

	nr = ktb_event_list(status->conn, session->id, status->per_cpu, &events);
	if (nr < 0)
		return fail("%s", ktb_conn_error(status->conn));
	if (status->context->json) {
		object = json_session(session);
		json_object_object_add(object, "events", json_events(events, nr));
		json_object_array_add(status->sessions, object);
	} else {
		print_all(session, events, nr);
	}
	ktb_event_list_free(events, nr);
	return EXIT_DONE;
}

static int show_one(struct status *status)
{
	struct ktb_session_info session;
	int err = find_session(status->conn, status->name, &session);

	if (err)
		return err;
	err = show_session(status, &session);
	ktb_session_info_clear(&session);
	return err;
}

static int show_all(struct status *status)
{
	struct ktb_session_info *sessions;
	int nr, err = EXIT_DONE;

	nr = ktb_session_list(status->conn, &sessions);
	if (nr < 0)
		return fail("%s", ktb_conn_error(status->conn));
	if (!nr && !status->context->json)
		puts("no session: 'ktbctl attach' makes one");
	for (int i = 0; i < nr && !err; i++) {
		if (i && !status->context->json)
			putchar('\n');
		err = show_session(status, &sessions[i]);
	}
	ktb_session_list_free(sessions, nr);
	return err;
}

static int show(struct status *status)
{
	struct json_object *object;
	int err;

	status->sessions = json_object_new_array();
	err = status->name ? show_one(status) : show_all(status);
	if (err || !status->context->json) {
		json_object_put(status->sessions);
		return err ? err : output_flush();
	}
	object = json_object_new_object();
	json_object_object_add(object, "sessions", status->sessions);
	return output_json(object);
}

static int parse_options(struct status *status, int argc, char **argv)
{
	static const struct option options[] = {
		{ "session", required_argument, NULL, 's' },
		{ "per-cpu", no_argument, NULL, 'p' },
		{ 0 },
	};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":s:", options, NULL)) != -1) {
		if (c == 's')
			status->name = optarg;
		else if (c == 'p')
			status->per_cpu = true;
		else
			return fail_option(status->context, c, argv);
	}
	if (optind != argc)
		return fail_usage(status->context, "'%s' is one too many; a session is named by -s",
				  argv[optind]);
	return EXIT_DONE;
}

static int run_status(struct context *context, int argc, char **argv)
{
	struct status status = { .context = context };
	int err = parse_options(&status, argc, argv);

	if (err)
		return err;
	status.conn = connect_module();
	if (!status.conn)
		return EXIT_FAILED;
	err = show(&status);
	ktb_conn_free(status.conn);
	return err;
}

const struct command cmd_status = {
	.name = "status",
	.summary = "show sessions, ledgers, rings and readers",
	.help = help_status,
	.run = run_status,
};
