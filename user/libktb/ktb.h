/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * libktb: the user side of the ktrace_bridge module.
 *
 * Handles are opaque. Functions return zero or a positive number on success and
 * a negative errno on failure; the handle then has a text that says what was
 * wrong. Nothing here prints or ends the process. A handle is used by one
 * thread at a time, where nothing else is said; different handles are independent.
 */
#ifndef KTB_H
#define KTB_H

#include <linux/ktrace_bridge.h>
#include <linux/ktrace_bridge_ring.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ktb_conn;
struct ktb_notify;
struct ktb_reader;
struct ktb_ring;
struct ktb_merge;
struct ktb_formats;
struct ktb_comms;
struct ktb_perfdata;
struct ktb_recording;
struct ktb_stacks;

/**
 * ktb_version() - version of the library
 *
 * Return: the version as text, "major.minor.patch".
 */
const char *ktb_version(void);

/* ---- control channel ------------------------------------------------------ */

/**
 * ktb_conn_new() - make a handle of a control connection, not connected yet
 *
 * Return: the handle, NULL when out of memory.
 */
struct ktb_conn *ktb_conn_new(void);

/**
 * ktb_conn_free() - close a connection
 * @conn: the connection, or NULL
 *
 * Sessions made through it that are not persistent end with it.
 */
void ktb_conn_free(struct ktb_conn *conn);

/**
 * ktb_conn_connect() - connect to the module
 * @conn: the connection
 *
 * Return: 0, or
 * * -ENODEV: the module is not loaded, or this is not the initial network
 *   namespace
 * * -EALREADY: the handle is connected
 * * another negative errno of the socket
 */
int ktb_conn_connect(struct ktb_conn *conn);

/**
 * ktb_conn_error() - what the last failed call on the connection found wrong
 * @conn: the connection
 *
 * Return: one line of text without a newline, valid until the next call on
 * @conn; empty when nothing failed.
 */
const char *ktb_conn_error(const struct ktb_conn *conn);

/**
 * ktb_conn_error_attr() - which argument the module refused
 * @conn: the connection
 *
 * Return: name of the netlink attribute as in the specification
 * ("ring-size"), NULL when the refusal was not about one.
 */
const char *ktb_conn_error_attr(const struct ktb_conn *conn);

/* ---- sessions ------------------------------------------------------------- */

/**
 * struct ktb_session_options - what a new session shall be like
 * @ring_size: bytes of records per CPU, 0 for the module's default
 * @flags: KTB_SESSION_* mask
 * @watermark: unread bytes at which a sleeping reader is woken, 0 for at once; more
 *	than half a ring is as good as half
 * @max_stack: longest callchain of a record in frames, 0 for records without
 */
struct ktb_session_options {
	uint64_t ring_size;
	uint32_t flags;
	uint32_t watermark;
	uint32_t max_stack;
};

/**
 * struct ktb_reader_info - a descriptor that reads a session
 * @pid: process that bound it
 * @cpu: CPU whose ring it reads, -1 for all
 * @comm: name of that process when it did
 */
struct ktb_reader_info {
	uint32_t pid;
	int32_t cpu;
	char comm[32];
};

/**
 * struct ktb_ring_info - state of one ring
 * @cpu: CPU that writes it
 * @online: whether that CPU is online
 * @size: bytes of record data
 * @head: bytes ever published; less than 0, as unsigned, in an overwrite session
 * @tail: bytes ever consumed, as the reader wrote it: anything at all
 * @lost: hits that did not reach the ring
 * @wakeups: wake-ups sent to readers
 */
struct ktb_ring_info {
	uint32_t cpu;
	bool online;
	uint64_t size;
	uint64_t head;
	uint64_t tail;
	uint64_t lost;
	uint64_t wakeups;
};

/**
 * struct ktb_session_info - state of a session
 * @id: number, never 0
 * @name: unique name
 * @flags: KTB_SESSION_* mask
 * @watermark: unread bytes at which a sleeping reader is woken
 * @enabled: whether events write records
 * @owner: process id of the owner, 0 when the session is persistent
 * @nr_events: number of attached events
 * @ring_size: bytes of record data per CPU
 * @sample_type: PERF_SAMPLE_* mask of the records
 * @max_stack: longest callchain of a record in frames, 0 if they have none
 * @nr_readers: entries in @readers
 * @nr_rings: entries in @rings
 * @readers: who reads the session
 * @rings: one per ring
 */
struct ktb_session_info {
	uint32_t id;
	char name[KTRACE_BRIDGE_NAME_LEN + 1];
	uint32_t flags;
	uint32_t watermark;
	bool enabled;
	uint32_t owner;
	uint32_t nr_events;
	uint64_t ring_size;
	uint64_t sample_type;
	uint32_t max_stack;
	unsigned int nr_readers;
	unsigned int nr_rings;
	struct ktb_reader_info *readers;
	struct ktb_ring_info *rings;
};

/**
 * ktb_session_new() - make a session
 * @conn: the connection; it owns the session unless that is persistent
 * @name: name of the session, at most KTRACE_BRIDGE_NAME_LEN bytes
 * @options: options, NULL for the module's defaults
 * @session: filled with id, name, flags, ring_size, sample_type and max_stack;
 *	nothing to free; may be NULL
 *
 * Return: 0, or
 * * -EEXIST: a session of that name exists
 * * -EINVAL: a bad name, size or stack depth
 * * -EOPNOTSUPP: a flag that the module does not know
 * * -ENOSPC: there are as many sessions as there can be
 * * -ENOMEM: no memory for the rings
 * * -EPERM: neither CAP_PERFMON nor CAP_SYS_ADMIN
 */
int ktb_session_new(struct ktb_conn *conn, const char *name,
		    const struct ktb_session_options *options, struct ktb_session_info *session);

/**
 * ktb_session_del() - detach all events of a session and remove it
 * @conn: the connection
 * @session: number of the session
 *
 * Return: 0, or
 * * -ENOENT: no such session
 * * -EPERM: neither CAP_PERFMON nor CAP_SYS_ADMIN
 */
int ktb_session_del(struct ktb_conn *conn, uint32_t session);

/**
 * ktb_session_set_enabled() - let a session's events write records, or not
 * @conn: the connection
 * @session: number of the session
 * @enabled: whether they shall
 *
 * Return: 0, or
 * * -ENOENT: no such session
 * * -EPERM: neither CAP_PERFMON nor CAP_SYS_ADMIN
 */
int ktb_session_set_enabled(struct ktb_conn *conn, uint32_t session, bool enabled);

/**
 * ktb_session_set_watermark() - when to wake a session's readers
 * @conn: the connection
 * @session: number of the session
 * @watermark: unread bytes at which a sleeping reader is woken, 0 for at once; more
 *	than half a ring is as good as half
 *
 * Return: 0, or
 * * -ENOENT: no such session
 * * -EPERM: neither CAP_PERFMON nor CAP_SYS_ADMIN
 */
int ktb_session_set_watermark(struct ktb_conn *conn, uint32_t session, uint32_t watermark);

/**
 * ktb_session_get() - describe a session
 * @conn: the connection
 * @name: name of the session
 * @session: filled; ktb_session_info_clear() frees what it points to
 *
 * Return: 0, or
 * * -ENOENT: no such session
 * * -EINVAL: a bad name
 * * -EPERM: neither CAP_PERFMON nor CAP_SYS_ADMIN
 * * -ENOMEM: out of memory
 */
int ktb_session_get(struct ktb_conn *conn, const char *name, struct ktb_session_info *session);

/**
 * ktb_session_info_clear() - free what a description points to
 * @session: the description
 */
void ktb_session_info_clear(struct ktb_session_info *session);

/**
 * ktb_session_list() - describe all sessions
 * @conn: the connection
 * @list: set to an array for ktb_session_list_free()
 *
 * Return: number of entries in @list, or
 * * -EPERM: neither CAP_PERFMON nor CAP_SYS_ADMIN
 * * -ENOMEM: out of memory
 */
int ktb_session_list(struct ktb_conn *conn, struct ktb_session_info **list);

/**
 * ktb_session_list_free() - free an array of descriptions
 * @list: the array, or NULL
 * @nr: number of entries
 */
void ktb_session_list_free(struct ktb_session_info *list, int nr);

/* ---- events --------------------------------------------------------------- */

/**
 * struct ktb_ledger - what became of an event's hits
 * @cpu: CPU it counts for, -1 for the sum of all
 * @hits: times the event fired
 * @written: records written
 * @filtered: dropped by a filter
 * @not_sampled: between two samples of a period
 * @lost_full: lost, the ring was full
 * @lost_big: lost, the record was too large
 * @lost_recursion: lost, the event fired inside its own probe
 * @count: sum of perf's event count over the hits not filtered, 1 a hit where the
 *	event has none
 * @throttled: times that perf throttled it; what it would have fired meanwhile is
 *	no hit
 *
 * @hits is the sum of @written to @lost_recursion whenever the event is quiet.
 */
struct ktb_ledger {
	int32_t cpu;
	uint64_t hits;
	uint64_t written;
	uint64_t filtered;
	uint64_t not_sampled;
	uint64_t lost_full;
	uint64_t lost_big;
	uint64_t lost_recursion;
	uint64_t count;
	uint64_t throttled;
};

/**
 * struct ktb_event_options - how to attach an event
 * @period: every period-th hit makes a record, 0 for every hit
 * @pids: only hits of these processes, all threads they have
 * @nr_pids: entries in @pids, 0 for no such limit
 * @tids: only hits of these threads; @pids or @tids, not both
 * @nr_tids: entries in @tids, 0 for no such limit
 * @inherit: with @pids or @tids, take in threads and children they make later
 * @cpus: only hits on these CPUs, such as "0-3,8"; NULL for all
 * @cgroup: only hits of tasks in this control group or below it, a path in the
 *	version 2 hierarchy; NULL for all
 * @attr: the perf event that fires, the event's name then being only a name;
 *	NULL for the tracepoint of that name
 * @functions: calls of these functions of the kernel, globs or with @graph plain
 *	names, the event's name then being only a name; NULL for another source
 * @nr_functions: entries in @functions
 * @graph: with @functions, at their return
 * @has_program: a BPF program says of each hit whether it is taken
 * @program: with @has_program, its descriptor, as of ktb_filter_load()
 * @program_text: with @has_program, what to show of it, or NULL
 * @disabled: attach it disabled
 *
 * Numbers of processes and threads are those of the caller's pid namespace.
 */
struct ktb_event_options {
	uint64_t period;
	const uint32_t *pids;
	unsigned int nr_pids;
	const uint32_t *tids;
	unsigned int nr_tids;
	bool inherit;
	const char *cpus;
	const char *cgroup;
	const struct perf_event_attr *attr;
	char *const *functions;
	unsigned int nr_functions;
	bool graph;
	bool has_program;
	int program;
	const char *program_text;
	bool disabled;
};

/**
 * struct ktb_event_info - state of an attached event
 * @session: number of its session
 * @id: sample id, in every record of the event
 * @name: name, "system:event"
 * @type: tracepoint id, common_type of its records
 * @path: how hits reach the ring, enum ktb_path
 * @enabled: whether it writes records
 * @period: every period-th hit makes a record
 * @nr_pids: entries in @pids
 * @nr_tids: entries in @tids
 * @pids: the processes it is limited to, in the numbers of who attached it
 * @tids: the threads it is limited to, likewise
 * @inherit: whether threads and children made later are taken in
 * @cpus: the CPUs it is limited to, such as "0-3,8"; NULL for none
 * @cgroup: the control group it is limited to; NULL for none
 * @attr: the perf event that fires; its size is 0 for a tracepoint
 * @program: number of the BPF program that says what is taken, 0 for none
 * @program_text: what is to be shown of that program; NULL for nothing
 * @ledger: sum over all CPUs
 * @nr_cpu_ledgers: entries in @cpu_ledgers
 * @cpu_ledgers: one per CPU that had a hit, when asked for
 */
struct ktb_event_info {
	uint32_t session;
	uint64_t id;
	char name[KTRACE_BRIDGE_EVENT_NAME_LEN + 1];
	uint32_t type;
	uint32_t path;
	bool enabled;
	uint64_t period;
	unsigned int nr_pids;
	unsigned int nr_tids;
	uint32_t *pids;
	uint32_t *tids;
	bool inherit;
	char *cpus;
	char *cgroup;
	struct perf_event_attr attr;
	uint32_t program;
	char *program_text;
	struct ktb_ledger ledger;
	unsigned int nr_cpu_ledgers;
	struct ktb_ledger *cpu_ledgers;
};

/**
 * ktb_event_attach() - attach an event to a session
 * @conn: the connection
 * @session: number of the session
 * @name: name of the event, "system:event"
 * @options: options, NULL for every hit of every thread
 * @event: filled with session, id, name, type, path and attr; nothing to free;
 *	may be NULL
 *
 * Return: 0, or
 * * -ENOENT: no such session or event
 * * -EEXIST: the event is attached to the session
 * * -EINVAL: a bad name or option, or CPUs that cannot be
 * * -ESRCH: a process, thread or control group is not there
 * * -E2BIG: more processes, threads or CPUs than a request has room for
 * * -ENOSPC: the session has as many events as it can have
 * * -EOPNOTSUPP: the event cannot be attached, or not with a program
 * * -EACCES: the program reads beyond the event's record
 * * -EPERM: neither CAP_PERFMON nor CAP_SYS_ADMIN
 * * -ENOMEM: out of memory
 */
int ktb_event_attach(struct ktb_conn *conn, uint32_t session, const char *name,
		     const struct ktb_event_options *options, struct ktb_event_info *event);

/**
 * ktb_filter_load() - make a BPF program of a filter on the fields of an event
 * @name: name of the event, "system:event"
 * @filter: the filter, in ftrace's notation: 'prev_pid != 0 && next_comm ~ "kworker*"'
 * @error: set to what is wrong, one line, when it fails
 * @len: bytes of @error
 *
 * Beside the event's own fields there are common_pid, cpu and comm, of the thread
 * that hits. Elements of arrays are named args[0]. Globs have '*', '?' and classes,
 * [a-z]; of strings without a fixed length they see the first 255 bytes.
 *
 * Return: a descriptor for struct ktb_event_options, to be closed by the caller, or
 * * -EINVAL: the filter is wrong, @error says at which column
 * * -ENOENT: no such event
 * * -EPERM: programs may not be loaded
 * * -ENOMEM: out of memory
 * * another errno of bpf(2)
 */
int ktb_filter_load(const char *name, const char *filter, char *error, size_t len);

/**
 * ktb_program_load() - load a BPF program from an object file
 * @path: file that a compiler made
 * @wanted: section or name of the program, NULL if there is but one
 * @counter: it is for a counter, not for a tracepoint; of no matter to a program whose
 *	section says what it is
 * @error: set to what is wrong, one line, when it fails
 * @len: bytes of @error
 *
 * Loads of several threads take turns. What libbpf has to say meanwhile, also in other
 * threads of the process, is not printed.
 *
 * Return: a descriptor for struct ktb_event_options, to be closed by the caller, or
 * * -ENOENT: no such file or program
 * * -EINVAL: more than one program, or not an object file
 * * -EOPNOTSUPP: this library was built without libbpf
 * * another errno of libbpf
 */
int ktb_program_load(const char *path, const char *wanted, bool counter, char *error, size_t len);

/**
 * ktb_event_detach() - detach an event
 * @conn: the connection
 * @session: number of the session
 * @event: sample id of the event
 * @last: filled with the event and its last ledger; nothing to free; may be
 *	NULL
 *
 * Return: 0, or
 * * -ENOENT: no such session or event
 * * -EPERM: neither CAP_PERFMON nor CAP_SYS_ADMIN
 */
int ktb_event_detach(struct ktb_conn *conn, uint32_t session, uint64_t event,
		     struct ktb_event_info *last);

/**
 * ktb_events_detach() - detach several events, all or none
 * @conn: the connection
 * @session: number of the session
 * @events: sample ids of the events
 * @nr: entries in @events
 *
 * Waits for all of their probes at once, so that a thousand take little longer
 * than one. Nothing is told of their last ledgers: ktb_events_set_enabled() and
 * ktb_event_list() before tell them.
 *
 * Return: 0, or
 * * -ENOENT: no such session, or it lacks one of the events
 * * -EPERM: neither CAP_PERFMON nor CAP_SYS_ADMIN
 * * -ENOMEM: out of memory
 */
int ktb_events_detach(struct ktb_conn *conn, uint32_t session, const uint64_t *events,
		      unsigned int nr);

/**
 * ktb_events_set_enabled() - let several events write records, or not
 * @conn: the connection
 * @session: number of the session
 * @events: sample ids of the events
 * @nr: entries in @events
 * @enabled: whether they shall
 *
 * Once disabled, their ledgers stand still when this returns.
 *
 * Return: 0, or
 * * -ENOENT: no such session, or it lacks one of the events
 * * -EPERM: neither CAP_PERFMON nor CAP_SYS_ADMIN
 * * -ENOMEM: out of memory
 */
int ktb_events_set_enabled(struct ktb_conn *conn, uint32_t session, const uint64_t *events,
			   unsigned int nr, bool enabled);

/**
 * ktb_event_set_enabled() - let an event write records, or not
 * @conn: the connection
 * @session: number of the session
 * @event: sample id of the event
 * @enabled: whether it shall
 *
 * Return: 0, or
 * * -ENOENT: no such session or event
 * * -EPERM: neither CAP_PERFMON nor CAP_SYS_ADMIN
 */
int ktb_event_set_enabled(struct ktb_conn *conn, uint32_t session, uint64_t event, bool enabled);

/**
 * ktb_event_list() - describe attached events
 * @conn: the connection
 * @session: number of the session, 0 for the events of all
 * @per_cpu: whether to ask for each CPU's ledger too
 * @list: set to an array for ktb_event_list_free()
 *
 * Return: number of entries in @list, 0 also if there is no such session, or
 * * -EPERM: neither CAP_PERFMON nor CAP_SYS_ADMIN
 * * -ENOMEM: out of memory
 */
int ktb_event_list(struct ktb_conn *conn, uint32_t session, bool per_cpu,
		   struct ktb_event_info **list);

/**
 * ktb_event_info_copy() - copy a description without what it points to
 * @to: filled, with no limits and no CPU's ledger; nothing to free
 * @from: the description
 */
void ktb_event_info_copy(struct ktb_event_info *to, const struct ktb_event_info *from);

/**
 * ktb_event_list_free() - free an array of descriptions
 * @list: the array, or NULL
 * @nr: number of entries
 */
void ktb_event_list_free(struct ktb_event_info *list, int nr);

/* ---- counters ------------------------------------------------------------- */

/**
 * struct ktb_perf_event - a counter, timer or breakpoint
 * @name: name to attach it by
 * @attr: for &struct ktb_event_options; neither sample_period nor freq is set if
 *	the text asks for none
 */
struct ktb_perf_event {
	char name[KTRACE_BRIDGE_EVENT_NAME_LEN + 1];
	struct perf_event_attr attr;
};

/**
 * ktb_perf_event_parse() - understand a counter in perf's notation
 * @text: such as "cycles:u", "cpu-clock/freq=99/", "r1a8", "L1-dcache-loads",
 *	"cpu/event=0x3c/" or "mem:0x1000/8:rw"
 * @event: filled
 * @error: set to one line of text that says what is wrong, empty on -ENOENT
 * @len: bytes at @error
 *
 * Whether this machine has the counter, attaching it tells.
 *
 * Return: 0, or
 * * -ENOENT: it is not a counter's notation: a tracepoint, maybe
 * * -EINVAL, -EOPNOTSUPP: it is one, with something wrong in it
 * * -ENODEV: there is no such PMU
 * * -EPERM: the address of a kernel symbol is hidden
 * * -ENOMEM: out of memory
 */
int ktb_perf_event_parse(const char *text, struct ktb_perf_event *event, char *error, size_t len);

/**
 * ktb_perf_event_name() - names of counters, one after the other
 * @index: from 0
 * @type: set to PERF_TYPE_HARDWARE or PERF_TYPE_SOFTWARE
 *
 * Return: the name, NULL behind the last one.
 */
const char *ktb_perf_event_name(unsigned int index, uint32_t *type);

/* ---- calls of functions --------------------------------------------------- */

/**
 * struct ktb_functions - functions of the kernel
 * @name: name to attach the event by
 * @graph: whether it fires at their return
 * @nr: entries in @names
 * @names: for &struct ktb_event_options
 */
struct ktb_functions {
	char name[KTRACE_BRIDGE_EVENT_NAME_LEN + 1];
	bool graph;
	unsigned int nr;
	char **names;
};

/**
 * ktb_functions_parse() - understand an event that is calls of functions
 * @text: "function:LIST", at their entry, or "fgraph:LIST", at their return; LIST
 *	is globs with blanks between, "!" before what is to be left out, ":mod:NAME"
 *	behind for those of a module
 * @functions: filled; ktb_functions_clear() frees it
 * @error: set to one line of text that says what is wrong, empty on -ENOENT
 * @len: bytes at @error
 *
 * Return: 0, or
 * * -ENOENT: it is not this notation
 * * -EINVAL: no functions, or none that can be traced
 * * -E2BIG: more functions than an event can have
 * * -ENOMEM: out of memory
 */
int ktb_functions_parse(const char *text, struct ktb_functions *functions, char *error, size_t len);

/**
 * ktb_functions_missing() - why the kernel does not know a function
 * @functions: refused by ktb_event_attach() with -ENOENT or -EINVAL
 *
 * Return: the first name that the kernel has no function for, or none that can be
 * traced; NULL if it has all of them, or does not say.
 */
const char *ktb_functions_missing(const struct ktb_functions *functions);

/**
 * ktb_functions_clear() - free what functions point to
 * @functions: the functions
 */
void ktb_functions_clear(struct ktb_functions *functions);

/* ---- dynamic probes ------------------------------------------------------- */

/**
 * enum ktb_probe_kind - where a probe is
 * @KTB_PROBE_KERNEL: in the kernel
 * @KTB_PROBE_KERNEL_RETURN: where a kernel function returns
 * @KTB_PROBE_USER: in programs
 * @KTB_PROBE_USER_RETURN: where a function of programs returns
 */
enum ktb_probe_kind {
	KTB_PROBE_KERNEL,
	KTB_PROBE_KERNEL_RETURN,
	KTB_PROBE_USER,
	KTB_PROBE_USER_RETURN,
};

/**
 * struct ktb_probe - an event that tracefs makes at a place in code
 * @kind: where
 * @system: the event's system
 * @event: its name there
 * @place: kernel function and offset, or file and offset
 * @args: what it records, in tracefs's notation
 */
struct ktb_probe {
	enum ktb_probe_kind kind;
	char *system;
	char *event;
	char *place;
	char *args;
};

/**
 * struct ktb_probe_error - why a probe cannot be had
 * @text: one line
 * @command: what tracefs was told, empty if it is not what is wrong
 * @column: where in @command, from 0, or -1
 */
struct ktb_probe_error {
	char text[512];
	char command[1024];
	int column;
};

/**
 * ktb_probe_parse() - understand a probe's definition
 * @text: "[NAME ]PLACE[ ARGUMENT...]" or "[NAME=]PLACE[ ARGUMENT...]": NAME is
 *	"event" or "system:event", PLACE "function+offset" of the kernel or
 *	"path:function+offset" or "path:offset" of a file, with "%return" behind it
 *	for its returns; the arguments are as tracefs takes them
 * @probe: filled; ktb_probe_clear() frees it
 * @error: says what is wrong
 *
 * Return: 0, or
 * * -EINVAL: it is not a definition
 * * -ENOENT: no such file, or no such function in it
 * * -ENOEXEC: the file is not a program or library
 * * -ENOMEM: out of memory
 */
int ktb_probe_parse(const char *text, struct ktb_probe *probe, struct ktb_probe_error *error);

/**
 * ktb_probe_create() - make a probe's event
 * @probe: the probe
 * @error: says what is wrong
 *
 * The event is there until it is removed, for all that trace.
 *
 * Return: 0, or
 * * -ENOENT: the kernel has no such function
 * * -EEXIST: there is an event of this name
 * * -EINVAL: the kernel takes no probe there, or an argument is wrong
 * * -ENOMEM: out of memory
 * * another negative errno of tracefs
 */
int ktb_probe_create(const struct ktb_probe *probe, struct ktb_probe_error *error);

/**
 * ktb_probe_remove() - remove a probe's event
 * @system: the event's system
 * @name: its name there
 * @error: says what is wrong
 *
 * Return: 0, or
 * * -ENOENT: there is no such probe
 * * -EBUSY: it is traced
 * * another negative errno of tracefs
 */
int ktb_probe_remove(const char *system, const char *name, struct ktb_probe_error *error);

/**
 * ktb_probe_list() - describe all probes, whoever made them
 * @list: set to an array for ktb_probe_list_free()
 *
 * Return: number of entries in @list, or
 * * -EACCES: no permission to read tracefs
 * * -ENODEV: there is no tracefs
 * * -ENOMEM: out of memory
 * * another negative errno of tracefs
 */
int ktb_probe_list(struct ktb_probe **list);

/**
 * ktb_probe_list_free() - free an array of probes
 * @list: the array, or NULL
 * @nr: number of entries
 */
void ktb_probe_list_free(struct ktb_probe *list, int nr);

/**
 * ktb_probe_clear() - free what a probe points to
 * @probe: the probe
 */
void ktb_probe_clear(struct ktb_probe *probe);

/* ---- sources -------------------------------------------------------------- */

/**
 * struct ktb_source_info - an event the module has a probe of its own for
 * @name: name, "system:event"
 * @type: tracepoint id, 0 when the running kernel lacks the event
 * @path: how its hits would reach the ring, enum ktb_path
 * @size: bytes of the record's fixed part, common fields included
 */
struct ktb_source_info {
	char name[KTRACE_BRIDGE_EVENT_NAME_LEN + 1];
	uint32_t type;
	uint32_t path;
	uint32_t size;
};

/**
 * ktb_source_list() - describe the module's own event sources
 * @conn: the connection
 * @list: set to an array for ktb_source_list_free()
 *
 * Return: number of entries in @list, or
 * * -EPERM: neither CAP_PERFMON nor CAP_SYS_ADMIN
 * * -ENOMEM: out of memory
 */
int ktb_source_list(struct ktb_conn *conn, struct ktb_source_info **list);

/**
 * ktb_source_list_free() - free an array of sources
 * @list: the array, or NULL
 */
void ktb_source_list_free(struct ktb_source_info *list);

/* ---- notices -------------------------------------------------------------- */

/**
 * struct ktb_notice - something the module announced
 * @cmd: KTB_CMD_*_NTF, or 0: notices were lost, look at everything anew
 * @session: number of the session
 * @event: sample id of the event, 0 when it is not about one
 * @cpu: CPU, -1 when it is not about one
 * @name: name of the session or event, may be empty
 */
struct ktb_notice {
	int cmd;
	uint32_t session;
	uint64_t event;
	int32_t cpu;
	char name[KTRACE_BRIDGE_EVENT_NAME_LEN + 1];
};

/**
 * ktb_notify_open() - listen to the module's notices
 * @conn: a connected connection; used for the error text and the family only
 * @notify: set to a handle for ktb_notify_close()
 *
 * Return: 0, or
 * * -ENODEV: the module is not loaded
 * * -ENOMEM: out of memory
 * * another negative errno of the socket
 */
int ktb_notify_open(struct ktb_conn *conn, struct ktb_notify **notify);

/**
 * ktb_notify_close() - stop listening
 * @notify: the handle, or NULL
 */
void ktb_notify_close(struct ktb_notify *notify);

/**
 * ktb_notify_fd() - descriptor that polls readable when there is a notice
 * @notify: the handle
 *
 * Return: the descriptor; it stays the handle's.
 */
int ktb_notify_fd(const struct ktb_notify *notify);

/**
 * ktb_notify_read() - handle the notices that came in, without waiting
 * @notify: the handle
 * @handle: called for each
 * @arg: passed to it
 *
 * Notices lost because they came too fast are no error: @handle is called with
 * a notice whose cmd is 0.
 *
 * Return: 0, or
 * * a negative errno of the socket
 */
int ktb_notify_read(struct ktb_notify *notify,
		    void (*handle)(const struct ktb_notice *notice, void *arg), void *arg);

/* ---- rings ---------------------------------------------------------------- */

/**
 * ktb_reader_new() - make a handle of a reader, not bound yet
 *
 * Return: the handle, NULL when out of memory.
 */
struct ktb_reader *ktb_reader_new(void);

/**
 * ktb_reader_free() - unmap the rings and let go of the session
 * @reader: the reader, or NULL
 */
void ktb_reader_free(struct ktb_reader *reader);

/**
 * ktb_reader_open() - become the reader of a session's rings and map them
 * @reader: the reader
 * @session: number of the session
 * @cpu: CPU whose ring is to be read, -1 for all
 *
 * Return: 0, or
 * * -ENODEV: the module is not loaded
 * * -EPERM, -EACCES: no privilege to open the device
 * * -ENOENT: no such session
 * * -ENXIO: no such CPU, or it has no ring
 * * -EBUSY: another descriptor reads one of these rings
 * * -ENODATA: the session only counts and has no rings
 * * -EOPNOTSUPP: the session overwrites: ktb_reader_open_overwrite() is for those
 * * -EPROTO: the module speaks a later version of the ring's layout
 * * -EALREADY: the reader is open
 * * -EIO: a ring's read position is damaged
 * * -ENOMEM: out of memory
 */
int ktb_reader_open(struct ktb_reader *reader, uint32_t session, int cpu);

/**
 * ktb_reader_exclude_self() - leave out the hits of this process
 * @reader: the reader, not open yet
 *
 * A reader of what it causes itself never comes to an end. While it is open,
 * hits of its process, all threads of it, are in the ledger as filtered.
 */
void ktb_reader_exclude_self(struct ktb_reader *reader);

/**
 * ktb_reader_error() - what the last failed call on the reader found wrong
 * @reader: the reader
 *
 * Return: one line of text without a newline, valid until the next call on
 * @reader or its rings; empty when nothing failed.
 */
const char *ktb_reader_error(const struct ktb_reader *reader);

/**
 * ktb_reader_fd() - descriptor that polls readable when a ring has records
 * @reader: an open reader
 *
 * It polls POLLHUP when the session was removed.
 *
 * Return: the descriptor; it stays the reader's.
 */
int ktb_reader_fd(const struct ktb_reader *reader);

/**
 * ktb_reader_refresh() - map the rings that came up since
 * @reader: an open reader
 *
 * To be called when a CPU came online; ring numbers stay as they are.
 *
 * Return: number of new rings, or
 * * -ENOMEM: out of memory
 * * any error of ktb_reader_open() that is about a ring
 */
int ktb_reader_refresh(struct ktb_reader *reader);

/**
 * ktb_reader_nr_rings() - number of mapped rings
 * @reader: the reader
 *
 * Return: that number.
 */
unsigned int ktb_reader_nr_rings(const struct ktb_reader *reader);

/**
 * ktb_reader_ring() - one of the rings
 * @reader: the reader
 * @index: number of the ring, from 0, not a CPU number
 *
 * Return: the ring, which stays the reader's; NULL beyond the last.
 */
struct ktb_ring *ktb_reader_ring(const struct ktb_reader *reader, unsigned int index);

/**
 * ktb_reader_sample_type() - format of the records
 * @reader: an open reader
 *
 * Return: PERF_SAMPLE_* mask.
 */
uint64_t ktb_reader_sample_type(const struct ktb_reader *reader);

/**
 * ktb_reader_lost() - hits that never reached the mapped rings
 * @reader: an open reader
 *
 * Return: their number since the rings were made.
 */
uint64_t ktb_reader_lost(const struct ktb_reader *reader);

/**
 * ktb_ring_cpu() - CPU that writes a ring
 * @ring: the ring
 *
 * Return: its number.
 */
unsigned int ktb_ring_cpu(const struct ktb_ring *ring);

/**
 * ktb_ring_size() - bytes of record data in a ring
 * @ring: the ring
 *
 * Return: that number, a power of two.
 */
uint64_t ktb_ring_size(const struct ktb_ring *ring);

/**
 * ktb_ring_lost() - hits that never reached a ring
 * @ring: the ring
 *
 * Return: their number since the ring was made.
 */
uint64_t ktb_ring_lost(const struct ktb_ring *ring);

/**
 * ktb_ring_pending() - bytes that are there and not released yet
 * @ring: the ring
 *
 * Changes nothing: any thread may ask while another one reads the ring. With 0,
 * the reader is done with every record that was there before the call.
 *
 * Return: their number.
 */
uint64_t ktb_ring_pending(const struct ktb_ring *ring);

/**
 * ktb_ring_begin() - take note of what has been published
 * @ring: the ring
 *
 * Return: bytes ktb_ring_next() can hand out now, or
 * * -EIO: the ring's positions make no sense
 * * -EOPNOTSUPP: the ring is one of an overwrite session
 */
int64_t ktb_ring_begin(struct ktb_ring *ring);

/**
 * ktb_ring_next() - the next record, in place
 * @ring: the ring
 * @record: set to the record, whole and contiguous; it stays as it is until
 *	ktb_ring_release() or ktb_ring_consume()
 *
 * Return: 1, 0 when all that ktb_ring_begin() saw has been handed out, or
 * * -EIO: a record's size makes no sense
 */
int ktb_ring_next(struct ktb_ring *ring, const struct perf_event_header **record);

/**
 * ktb_ring_release() - give back the room of all records handed out
 * @ring: the ring
 */
void ktb_ring_release(struct ktb_ring *ring);

/**
 * ktb_ring_unread() - everything unread as one block
 * @ring: the ring
 * @data: set to its beginning, a record's
 *
 * For whoever passes records on as they are: write(2) them in one go, then
 * ktb_ring_consume().
 *
 * Return: number of bytes at @data, or
 * * -EIO: the ring's positions make no sense
 * * -EOPNOTSUPP: the ring is one of an overwrite session
 */
int64_t ktb_ring_unread(struct ktb_ring *ring, const void **data);

/**
 * ktb_ring_consume() - give back the room of bytes seen by ktb_ring_unread()
 * @ring: the ring
 * @len: number of bytes; whole records
 */
void ktb_ring_consume(struct ktb_ring *ring, uint64_t len);

/* ---- overwrite sessions --------------------------------------------------- */

/**
 * ktb_reader_open_overwrite() - become the reader of an overwrite session's rings
 * @reader: the reader
 * @session: number of the session
 * @cpu: CPU whose ring is to be read, -1 for all
 *
 * Its records are read between ktb_reader_freeze() and ktb_reader_thaw(), with
 * ktb_ring_older() or ktb_ring_records(). They stay in the rings.
 *
 * Return: 0, or
 * * -EOPNOTSUPP: the session does not overwrite
 * * another error of ktb_reader_open()
 */
int ktb_reader_open_overwrite(struct ktb_reader *reader, uint32_t session, int cpu);

/**
 * ktb_reader_freeze() - stop the rings for a snapshot
 * @reader: opened by ktb_reader_open_overwrite()
 *
 * Rings that came up since are mapped too, if all CPUs are read. What hits until
 * ktb_reader_thaw() is lost, and counted as lost. A reader that is freed does not
 * leave the rings frozen.
 *
 * Return: 0, or, with the rings going on
 * * -EOPNOTSUPP: the session does not overwrite
 * * any error of ktb_reader_refresh()
 */
int ktb_reader_freeze(struct ktb_reader *reader);

/**
 * ktb_reader_thaw() - let the rings go on
 * @reader: the reader
 *
 * No record handed out is valid any more.
 *
 * Return: 0, or
 * * -EOPNOTSUPP: the session does not overwrite
 */
int ktb_reader_thaw(struct ktb_reader *reader);

/**
 * ktb_ring_newest() - begin with a frozen ring's newest record
 * @ring: the ring
 *
 * Needed to begin anew only: a ring that was just frozen is there already.
 *
 * Return: bytes in the ring, those of an overwritten record's rest included, or
 * * -EBUSY: the ring is not frozen
 */
int64_t ktb_ring_newest(struct ktb_ring *ring);

/**
 * ktb_ring_older() - the next older record of a frozen ring, in place
 * @ring: the ring
 * @record: set to the record, whole and contiguous, valid until
 *	ktb_reader_thaw(); first the newest
 *
 * Return: 1, 0 behind the oldest record that is whole, or
 * * -EBUSY: the ring is not frozen
 * * -EIO: a record's size makes no sense
 */
int ktb_ring_older(struct ktb_ring *ring, const struct perf_event_header **record);

/**
 * ktb_ring_records() - all whole records of a frozen ring, oldest first
 * @ring: the ring
 * @records: set to an array of them, in place; the array is the ring's, valid until
 *	the next call, the records until ktb_reader_thaw()
 *
 * Return: number of entries in @records, or
 * * -EBUSY: the ring is not frozen
 * * -EIO: a record's size makes no sense
 * * -ENOMEM: out of memory
 */
int64_t ktb_ring_records(struct ktb_ring *ring, const struct perf_event_header *const **records);

/* ---- records in the order of time ----------------------------------------- */

/**
 * ktb_merge_new() - make a merge of all rings of a reader
 * @reader: an open reader; its rings must not be read in another way meanwhile
 *
 * Return: the merge, NULL when out of memory.
 */
struct ktb_merge *ktb_merge_new(struct ktb_reader *reader);

/**
 * ktb_merge_free() - give back what was handed out and free the merge
 * @merge: the merge, or NULL; to be freed before its reader
 */
void ktb_merge_free(struct ktb_merge *merge);

/**
 * ktb_merge_set_slack() - how long a writer may take to publish a record
 * @merge: the merge
 * @ns: nanoseconds
 *
 * A record is held back for at most this long where another CPU could still
 * publish an older one.
 */
void ktb_merge_set_slack(struct ktb_merge *merge, uint64_t ns);

/**
 * ktb_merge_set_until() - leave what is younger in the rings
 * @merge: the merge
 * @time: nanoseconds of CLOCK_MONOTONIC; no younger record is handed out
 *
 * Takes effect with the next ktb_merge_fill().
 */
void ktb_merge_set_until(struct ktb_merge *merge, uint64_t time);

/**
 * ktb_merge_fill() - look at what the rings have now
 * @merge: the merge
 * @last: whether to hold nothing back: no later call follows
 *
 * Invalidates the record ktb_merge_next() gave last.
 *
 * Return: 0, or
 * * -EIO: a ring's contents make no sense
 * * -ENOMEM: out of memory
 */
int ktb_merge_fill(struct ktb_merge *merge, bool last);

/**
 * ktb_merge_next() - the next record in the order of time, in place
 * @merge: the merge
 * @record: set to the record, valid until the next call on @merge
 *
 * Return: 1, or 0 when it takes another ktb_merge_fill() to tell.
 */
int ktb_merge_next(struct ktb_merge *merge, const struct perf_event_header **record);

/**
 * ktb_merge_release() - give the room of all records handed out back
 * @merge: the merge
 *
 * Done by ktb_merge_fill() and, now and then, by ktb_merge_next() as well.
 */
void ktb_merge_release(struct ktb_merge *merge);

/**
 * ktb_merge_pending() - whether records are held back or not yet handed out
 * @merge: the merge
 *
 * Return: true if so: call ktb_merge_fill() again soon, though nothing wakes
 * the reader.
 */
bool ktb_merge_pending(const struct ktb_merge *merge);

/**
 * ktb_merge_late() - records that came out later than a younger one
 * @merge: the merge
 *
 * Return: their number; not zero where a writer was held up for longer than the
 * slack.
 */
uint64_t ktb_merge_late(const struct ktb_merge *merge);

/* ---- decoding ------------------------------------------------------------- */

/**
 * struct ktb_sample - a decoded record; pointers point into the record
 * @type: PERF_RECORD_*
 * @id: sample id of the event
 * @ip: instruction pointer
 * @pid: process
 * @tid: thread
 * @time: nanoseconds of CLOCK_MONOTONIC
 * @cpu: CPU
 * @period: hits the sample stands for
 * @lost: PERF_RECORD_LOST: number of hits lost
 * @nr_chain: entries in @chain
 * @chain: call chain, markers included
 * @raw_size: bytes in @raw, padding included
 * @raw: the event's own data, as its format file describes it; only 4-byte
 *	aligned
 */
struct ktb_sample {
	uint32_t type;
	uint64_t id;
	uint64_t ip;
	uint32_t pid;
	uint32_t tid;
	uint64_t time;
	uint32_t cpu;
	uint64_t period;
	uint64_t lost;
	uint64_t nr_chain;
	const uint64_t *chain;
	uint32_t raw_size;
	const void *raw;
};

/**
 * ktb_sample_parse() - decode a record
 * @sample_type: PERF_SAMPLE_* mask of the session, of IDENTIFIER, IP, TID,
 *	TIME, ADDR, ID, STREAM_ID, CPU, PERIOD, CALLCHAIN and RAW
 * @record: the record
 * @sample: filled; what the record does not have is 0
 *
 * Return: 0, or
 * * -EIO: the record is shorter than its contents
 * * -EOPNOTSUPP: @sample_type has a bit not listed above
 */
int ktb_sample_parse(uint64_t sample_type, const struct perf_event_header *record,
		     struct ktb_sample *sample);

/**
 * ktb_formats_new() - make an empty set of event formats
 *
 * Return: the set, NULL when out of memory.
 */
struct ktb_formats *ktb_formats_new(void);

/**
 * ktb_formats_free() - free a set of formats
 * @formats: the set, or NULL
 */
void ktb_formats_free(struct ktb_formats *formats);

/**
 * ktb_formats_load() - read an event's format from tracefs
 * @formats: the set
 * @name: name of the event, "system:event"
 *
 * Loading it again takes another format, if the event has been made anew since. Records
 * of the old one are then still decoded, unless their number is the new one's.
 *
 * Return: 0, or
 * * -ENOENT: tracefs does not have the event, or is not mounted
 * * -EINVAL: not a name, or its format cannot be parsed
 * * -ENOMEM: out of memory
 */
int ktb_formats_load(struct ktb_formats *formats, const char *name);

/**
 * ktb_formats_error() - what the last failed call on the set found wrong
 * @formats: the set
 *
 * Return: one line of text without a newline; empty when nothing failed.
 */
const char *ktb_formats_error(const struct ktb_formats *formats);

/**
 * ktb_formats_name() - name of the event a sample is of
 * @formats: the set
 * @sample: the sample
 * @name: where to put it, "system:event"
 * @len: bytes there
 *
 * Return: 0, or
 * * -ENOENT: the sample's format is not in the set
 */
int ktb_formats_name(struct ktb_formats *formats, const struct ktb_sample *sample, char *name,
		     size_t len);

/**
 * ktb_formats_text() - a sample as the event's own print format shows it
 * @formats: the set
 * @sample: the sample
 *
 * Return: the text, valid until the next call on @formats; NULL when the
 * sample's format is not in the set.
 */
const char *ktb_formats_text(struct ktb_formats *formats, const struct ktb_sample *sample);

/**
 * enum ktb_field_kind - what kind of value a field has
 * @KTB_FIELD_SIGNED: a signed number
 * @KTB_FIELD_UNSIGNED: an unsigned number
 * @KTB_FIELD_STRING: text
 * @KTB_FIELD_ARRAY: numbers
 */
enum ktb_field_kind {
	KTB_FIELD_SIGNED,
	KTB_FIELD_UNSIGNED,
	KTB_FIELD_STRING,
	KTB_FIELD_ARRAY,
};

/**
 * struct ktb_field - a field's value in a sample
 * @name: name of the field
 * @kind: which of the others count
 * @number: the number; its bits if it is signed
 * @data: text, not terminated, or the array's beginning; not aligned
 * @len: bytes in @data
 * @element: bytes of one number in @data
 * @is_signed: whether numbers in @data are signed
 */
struct ktb_field {
	const char *name;
	enum ktb_field_kind kind;
	uint64_t number;
	const void *data;
	size_t len;
	unsigned int element;
	bool is_signed;
};

/**
 * ktb_formats_fields() - a sample's fields, in order, without the common ones
 * @formats: the set
 * @sample: the sample
 * @each: called for each field; what it points to is valid in the call only
 * @arg: passed to it
 *
 * Return: 0, or
 * * -ENOENT: the sample's format is not in the set
 */
int ktb_formats_fields(struct ktb_formats *formats, const struct ktb_sample *sample,
		       void (*each)(const struct ktb_field *field, void *arg), void *arg);

/**
 * struct ktb_graph_call - a call of a kernel function that has returned
 * @func: address of the function
 * @depth: calls of the same event and thread around it
 * @start: nanoseconds of CLOCK_MONOTONIC at its begin
 * @end: likewise at its return
 */
struct ktb_graph_call {
	uint64_t func;
	unsigned int depth;
	uint64_t start;
	uint64_t end;
};

/**
 * ktb_graph_parse() - the call whose return a sample is
 * @formats: the set, with the format of ftrace:funcgraph_exit
 * @sample: the sample
 * @call: filled
 *
 * Return: 0, or
 * * -ENOENT: it is a sample of something else
 * * -EIO: the sample is too short
 */
int ktb_graph_parse(struct ktb_formats *formats, const struct ktb_sample *sample,
		    struct ktb_graph_call *call);

/**
 * enum ktb_graph_part - what of a call is to be printed
 * @KTB_GRAPH_LEAF: all, in one line: nothing is shown inside of it
 * @KTB_GRAPH_BEGIN: its begin
 * @KTB_GRAPH_END: its end
 */
enum ktb_graph_part {
	KTB_GRAPH_LEAF,
	KTB_GRAPH_BEGIN,
	KTB_GRAPH_END,
};

/**
 * ktb_graph_text() - a call as ftrace prints it, indented by its depth
 * @formats: the set
 * @call: the call
 * @part: what of it
 *
 * Return: the text, valid until the next call on @formats.
 */
const char *ktb_graph_text(struct ktb_formats *formats, const struct ktb_graph_call *call,
			   enum ktb_graph_part part);

/**
 * ktb_comms_new() - make an empty table of thread names
 *
 * Return: the table, NULL when out of memory.
 */
struct ktb_comms *ktb_comms_new(void);

/**
 * ktb_comms_free() - free a table of thread names
 * @comms: the table, or NULL
 */
void ktb_comms_free(struct ktb_comms *comms);

/**
 * ktb_comms_get() - name of a thread
 * @comms: the table
 * @tid: the thread
 *
 * Asks /proc for a thread not seen yet, and again for one of which nothing was told for
 * a tenth of a second: it may have called exec, or be another one of that number.
 *
 * Return: the name, valid until the next call on @comms; "<...>" when the
 * thread is gone without a trace, "<idle>" for thread 0.
 */
const char *ktb_comms_get(struct ktb_comms *comms, uint32_t tid);

/**
 * ktb_comms_learn() - take thread names from a sample that tells some
 * @comms: the table
 * @formats: the set with the sample's format
 * @sample: the sample, in the order of time
 */
void ktb_comms_learn(struct ktb_comms *comms, struct ktb_formats *formats,
		     const struct ktb_sample *sample);

/* ---- perf.data ------------------------------------------------------------ */

/**
 * struct ktb_perfdata_options - what a perf.data file shall hold
 * @sample_type: PERF_SAMPLE_* mask of the records
 * @events: the events whose records it will hold; name, id, type and period count
 * @nr_events: entries in @events
 * @argc: entries in @argv
 * @argv: command line to be kept in the file, valid until it is finished; may be
 *	empty
 * @count: count samples as they are written, which takes a look at each
 * @sideband: also record, through perf, names, forks, exits and mappings of tasks,
 *	and code that comes and goes in the kernel
 * @compress: level of compression, 1 to 22 as zstd has them; 0 for none
 * @earlier: the file that this one follows, or NULL: of its events the formats are
 *	known, also where tracefs has them no more; an event of which there is none is
 *	described as one whose records have no fields
 */
struct ktb_perfdata_options {
	uint64_t sample_type;
	const struct ktb_event_info *events;
	unsigned int nr_events;
	int argc;
	char *const *argv;
	bool count;
	bool sideband;
	int compress;
	const struct ktb_perfdata *earlier;
};

/**
 * struct ktb_perfdata_stats - what went into a file
 * @bytes: bytes of records
 * @samples: samples, if they are counted
 * @dropped: samples taken from a ring that had to be given up to end the file
 *	well, on a full disk
 * @kernel_hidden: the kernel did not tell where it is (kernel.kptr_restrict): of the
 *	file nobody learns names of its functions
 * @lost_sideband: records of names and mappings of tasks that perf lost
 */
struct ktb_perfdata_stats {
	uint64_t bytes;
	uint64_t samples;
	uint64_t dropped;
	bool kernel_hidden;
	uint64_t lost_sideband;
};

/**
 * ktb_perfdata_new() - make a handle of a perf.data file, not open yet
 *
 * Return: the handle, NULL when out of memory.
 */
struct ktb_perfdata *ktb_perfdata_new(void);

/**
 * ktb_perfdata_free() - close a file and free its handle
 * @file: the file, or NULL; one that is not finished is removed
 */
void ktb_perfdata_free(struct ktb_perfdata *file);

/**
 * ktb_perfdata_error() - what the last failed call on the file found wrong
 * @file: the file
 *
 * Return: one line of text without a newline, valid until the next call on
 * @file; empty when nothing failed.
 */
const char *ktb_perfdata_error(const struct ktb_perfdata *file);

/**
 * ktb_perfdata_open() - begin a file
 * @file: the file
 * @path: its name; what is there is renamed to "@path.old"
 * @options: what it shall hold
 *
 * Return: 0, or
 * * -ENOENT: tracefs does not know the format of one of the events, and no file is
 *   earlier
 * * -EINVAL: no such level of compression
 * * -EOPNOTSUPP: compression was not built in
 * * -ESPIPE: @path is a pipe, a socket or a terminal
 * * -EALREADY: the file is open
 * * -ENOMEM: out of memory
 * * another negative errno of making or writing the file, or of
 *   perf_event_open(2)
 */
int ktb_perfdata_open(struct ktb_perfdata *file, const char *path,
		      const struct ktb_perfdata_options *options);

/**
 * ktb_perfdata_synthesize() - write what ran before the recording began
 * @file: an open file, without records yet
 *
 * Names of threads and executable mappings from /proc, and where the kernel and
 * its modules are, if kptr_restrict lets it be seen.
 *
 * Return: 0, or
 * * a negative errno of writing
 */
int ktb_perfdata_synthesize(struct ktb_perfdata *file);

/**
 * ktb_perfdata_set_events() - the file has records of other events too
 * @file: an open file
 * @events: all events, those of before included
 * @nr: entries in @events
 *
 * The formats of those that are new are read now: they may be gone in the end.
 *
 * Return: 0, or
 * * -ENOMEM: out of memory
 */
int ktb_perfdata_set_events(struct ktb_perfdata *file, const struct ktb_event_info *events,
			    unsigned int nr);

/**
 * ktb_perfdata_add_cpu() - side-band of a CPU that came online
 * @file: an open file
 * @cpu: the CPU; -1: all that were not there before
 *
 * Return: 0, also for a file without side-band, or a negative errno: what happens on
 * that CPU goes unseen, and all else goes on.
 */
int ktb_perfdata_add_cpu(struct ktb_perfdata *file, int cpu);

/**
 * ktb_perfdata_fd() - descriptor that polls readable when there is side-band
 * @file: an open file
 *
 * ktb_perfdata_end_round() reads it.
 *
 * Return: the descriptor, which stays the file's; -1 without side-band.
 */
int ktb_perfdata_fd(const struct ktb_perfdata *file);

/**
 * ktb_perfdata_write() - write records as they are
 * @file: an open file
 * @cpu: CPU that wrote them
 * @data: whole records, of one CPU in the order of time
 * @len: bytes of them
 *
 * After an error the file takes no more records, and can be finished. Several
 * threads may write, each the records of other CPUs, while another one ends rounds.
 *
 * Where the file system takes direct I/O, records are collected to be written in
 * large blocks, past the page cache; ktb_perfdata_end_round() sees to it that they
 * do not wait for long.
 *
 * Return: bytes that are taken: @len, or less on a full disk, and then whole
 * records that are in the file; or
 * * a negative errno of writing, and nothing of @data is in the file
 */
int64_t ktb_perfdata_write(struct ktb_perfdata *file, unsigned int cpu, const void *data,
			   size_t len);

/**
 * ktb_perfdata_write_ring() - write all that is unread in a ring
 * @file: an open file
 * @ring: the ring; what is taken is given back
 *
 * Return: bytes that are taken, as by ktb_perfdata_write(), or
 * * -EIO: the ring's positions make no sense
 * * a negative errno of writing
 */
int64_t ktb_perfdata_write_ring(struct ktb_perfdata *file, struct ktb_ring *ring);

/**
 * ktb_perfdata_end_round() - all rings have been written once
 * @file: an open file
 *
 * Writes the side-band that came up, and now and then a mark up to which readers
 * can sort. Each ring must have been written since the call before. What was taken
 * more than a second ago is in the file afterwards, also if the process is killed.
 *
 * Return: 0, or
 * * a negative errno of writing, also of an earlier call
 */
int ktb_perfdata_end_round(struct ktb_perfdata *file);

/**
 * ktb_perfdata_flush() - what was taken is to be in the file
 * @file: an open file
 *
 * After an error the file ends with as many records as have reached it; of those
 * that had been taken and have not, the samples are in the statistics as dropped.
 *
 * Return: 0, or
 * * a negative errno of writing, also of an earlier call
 */
int ktb_perfdata_flush(struct ktb_perfdata *file);

/**
 * ktb_perfdata_write_lost() - say how many samples of an event are missing in all
 * @file: an open file
 * @id: sample id of the event
 * @lost: their number, which may be 0
 *
 * LOST records in the stream tell where; this tells the sum, also of what was lost
 * after the last of them.
 *
 * Return: 0, or
 * * a negative errno of writing
 */
int ktb_perfdata_write_lost(struct ktb_perfdata *file, uint64_t id, uint64_t lost);

/**
 * ktb_perfdata_finish() - make a file complete and close it
 * @file: an open file; on a full disk too
 *
 * Return: 0, also after an error that was told before; or
 * * a negative errno of writing
 */
int ktb_perfdata_finish(struct ktb_perfdata *file);

/**
 * ktb_perfdata_get_stats() - what went into a file
 * @file: the file
 * @stats: filled
 */
void ktb_perfdata_get_stats(struct ktb_perfdata *file, struct ktb_perfdata_stats *stats);

/* ---- reading a perf.data -------------------------------------------------- */

/**
 * struct ktb_recording_options - where names of addresses come from
 * @kallsyms: a copy of the recorded machine's /proc/kallsyms; NULL for this
 *	machine's, if its kernel is the one that was recorded
 * @symfs: directory below which programs and libraries are looked for; NULL for /
 */
struct ktb_recording_options {
	const char *kallsyms;
	const char *symfs;
};

/**
 * struct ktb_recording_event - an event a recording has samples of
 * @name: name, "system:event" of a tracepoint
 * @type: PERF_TYPE_*
 * @config: which of that type; a tracepoint's id
 * @sample_type: PERF_SAMPLE_* mask of its samples
 */
struct ktb_recording_event {
	const char *name;
	uint32_t type;
	uint64_t config;
	uint64_t sample_type;
};

/**
 * struct ktb_record - a record of a recording
 * @header: the record itself; it and what @sample points to are valid until the
 *	next one is asked for
 * @sample: decoded
 * @event: event it is of; NULL if the recording does not tell
 */
struct ktb_record {
	const struct perf_event_header *header;
	struct ktb_sample sample;
	const struct ktb_recording_event *event;
};

/**
 * struct ktb_frame - a place in a call chain
 * @addr: address
 * @place: the same as an offset in the program's or library's file; the address
 *	itself where there is none
 * @kernel: whether it is the kernel's
 * @symbol: name of the function there, NULL if it is not known
 * @offset: bytes from the function's beginning
 * @dso: program, library or module, "[kernel.kallsyms]" of the kernel proper;
 *	NULL if it is not known
 *
 * Names live as long as the recording, but see ktb_stacks_frames().
 */
struct ktb_frame {
	uint64_t addr;
	uint64_t place;
	bool kernel;
	const char *symbol;
	uint64_t offset;
	const char *dso;
};

/**
 * struct ktb_recording_stats - what came out of a recording so far
 * @samples: samples
 * @lost: samples that its LOST records say are missing
 * @late: records that came out later than a younger one
 * @lost_sideband: records of names and mappings of tasks that are missing
 */
struct ktb_recording_stats {
	uint64_t samples;
	uint64_t lost;
	uint64_t late;
	uint64_t lost_sideband;
};

/**
 * ktb_recording_new() - make a handle of a perf.data file to read
 *
 * Return: the handle, NULL when out of memory.
 */
struct ktb_recording *ktb_recording_new(void);

/**
 * ktb_recording_free() - close a recording
 * @recording: the recording, or NULL
 */
void ktb_recording_free(struct ktb_recording *recording);

/**
 * ktb_recording_error() - what the last failed call on the recording found wrong
 * @recording: the recording
 *
 * Return: one line of text without a newline; empty when nothing failed.
 */
const char *ktb_recording_error(const struct ktb_recording *recording);

/**
 * ktb_recording_open() - open a perf.data file, ours or perf's
 * @recording: the recording
 * @path: the file
 * @options: options, NULL for none
 *
 * After a failure the handle is as new, but for the text.
 *
 * Return: 0, or
 * * -EINVAL: it is no perf.data file
 * * -EIO: it is cut off, damaged, or was never finished
 * * -EOPNOTSUPP: it is of the other byte order, of a pipe, or a part of a
 *   directory of files
 * * -EALREADY: the recording is open
 * * -ENOMEM: out of memory
 * * another negative errno of opening the file
 */
int ktb_recording_open(struct ktb_recording *recording, const char *path,
		       const struct ktb_recording_options *options);

/**
 * ktb_recording_nr_events() - number of events
 * @recording: an open recording
 *
 * Return: that number.
 */
unsigned int ktb_recording_nr_events(const struct ktb_recording *recording);

/**
 * ktb_recording_event() - one of the events
 * @recording: an open recording
 * @index: which, from 0
 *
 * Return: the event, which stays the recording's; NULL beyond the last.
 */
const struct ktb_recording_event *ktb_recording_event(const struct ktb_recording *recording,
						      unsigned int index);

/**
 * ktb_recording_formats() - the formats that are in the recording
 * @recording: an open recording
 *
 * Return: the set, which stays the recording's.
 */
struct ktb_formats *ktb_recording_formats(struct ktb_recording *recording);

/**
 * ktb_recording_next() - the next record, in the order of time
 * @recording: an open recording
 * @record: filled
 *
 * Names of threads and mappings are then known as they were at that time.
 *
 * Return: 1, 0 when there are no more, or
 * * -EIO: the file is damaged
 * * -EOPNOTSUPP: it has samples of a kind that is not supported
 * * -ENOMEM: out of memory
 */
int ktb_recording_next(struct ktb_recording *recording, struct ktb_record *record);

/**
 * ktb_recording_comm() - name of a thread, at the time of the last record
 * @recording: an open recording
 * @tid: the thread
 *
 * Return: the name, valid until the next call on @recording; ":tid" if the
 * recording does not tell.
 */
const char *ktb_recording_comm(struct ktb_recording *recording, uint32_t tid);

/**
 * ktb_recording_frames() - a sample's call chain with names
 * @recording: an open recording
 * @record: the sample, handed out last
 * @frames: filled, the innermost first; of a sample without a call chain its
 *	instruction pointer alone
 * @max: room there
 *
 * Return: number of frames.
 */
unsigned int ktb_recording_frames(struct ktb_recording *recording, const struct ktb_record *record,
				  struct ktb_frame *frames, unsigned int max);

/**
 * ktb_recording_problem() - why functions have no names
 * @recording: an open recording
 *
 * Return: a text to be shown, NULL if nothing kept names from being found so far.
 */
const char *ktb_recording_problem(const struct ktb_recording *recording);

/**
 * ktb_recording_get_stats() - what came out so far
 * @recording: an open recording
 * @stats: filled
 */
void ktb_recording_get_stats(const struct ktb_recording *recording,
			     struct ktb_recording_stats *stats);

/* ---- call chains as they come --------------------------------------------- */

/**
 * ktb_stacks_new() - make what names the functions of call chains
 *
 * Return: the handle, NULL when out of memory.
 */
struct ktb_stacks *ktb_stacks_new(void);

/**
 * ktb_stacks_free() - free it
 * @stacks: the handle, or NULL
 */
void ktb_stacks_free(struct ktb_stacks *stacks);

/**
 * ktb_stacks_frames() - a sample's call chain with names
 * @stacks: the handle
 * @sample: a sample of this machine; a process that is gone has no names
 * @frames: filled, the innermost first; of a sample without a call chain its
 *	instruction pointer alone; names are valid until the next call on @stacks
 * @max: room there
 *
 * Return: number of frames.
 */
unsigned int ktb_stacks_frames(struct ktb_stacks *stacks, const struct ktb_sample *sample,
			       struct ktb_frame *frames, unsigned int max);

/**
 * ktb_stacks_problem() - why functions have no names
 * @stacks: the handle
 *
 * Return: a text to be shown, NULL if nothing kept names from being found so far.
 */
const char *ktb_stacks_problem(const struct ktb_stacks *stacks);

#ifdef __cplusplus
}
#endif

#endif /* KTB_H */
