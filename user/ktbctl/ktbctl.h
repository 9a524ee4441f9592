/* SPDX-License-Identifier: GPL-2.0-only */
/* What the commands of ktbctl share. */
#ifndef KTBCTL_H
#define KTBCTL_H

#include <json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calls.h"
#include "ktb.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define DEFAULT_SESSION "default"
#define PRINTF(f, a) __attribute__((format(printf, f, a)))

enum {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

struct option;

/* What every command is told. */
struct context {
	const struct command *command;
	bool json;
};

struct command {
	const char *name;
	const char *summary;
	const char *help;
	int (*run)(struct context *context, int argc, char **argv);
	/* Of one that runs a command of the user's: what it knows, for getopt. */
	const char *letters;
	const struct option *options;
};

extern const struct command cmd_attach;
extern const struct command cmd_detach;
extern const struct command cmd_disable;
extern const struct command cmd_enable;
extern const struct command cmd_flame;
extern const struct command cmd_list;
extern const struct command cmd_probe;
extern const struct command cmd_read;
extern const struct command cmd_record;
extern const struct command cmd_report;
extern const struct command cmd_script;
extern const struct command cmd_snapshot;
extern const struct command cmd_stat;
extern const struct command cmd_status;

/* message.c: to stderr, with the program's name; each returns an exit status */
int fail(const char *format, ...) PRINTF(1, 2);
int fail_usage(const struct context *context, const char *format, ...) PRINTF(2, 3);
int fail_value(const struct context *context, const struct option *known, int c, const char *value,
	       const char *wrong);
int fail_option(const struct context *context, int c, char **argv);
void note(const char *format, ...) PRINTF(1, 2);
void note_hidden_kernel(struct ktb_perfdata *file, const char *path);

/* number.c */
const char *parse_size(const char *text, uint64_t *size);
const char *parse_number(const char *text, uint64_t max, uint64_t *number);
const char *parse_seconds(const char *text, uint64_t *ns);
const char *size_text(uint64_t size, char *text, size_t len);

/* cpus.c: lists of CPUs, such as "0-3,8" */
const char *check_cpu_list(const char *text);
int check_cpus(const char *list, const char *then);
bool cpu_list_next(const char *list, unsigned long *cpu);

/* connect.c */
struct ktb_conn *connect_module(void);
int find_session(struct ktb_conn *conn, const char *name, struct ktb_session_info *session);
int fail_busy(struct ktb_conn *conn, const char *name);
void note_disabled(const char *session);
int refuse_unreadable(const struct ktb_session_info *session);
const char *path_text(uint32_t path);

/* catalog.c: all events there are, sorted by name */
struct catalog_event {
	char *name;
	uint32_t path; /* enum ktb_path, 0 if the module has none for it */
	int type; /* tracepoint id, 0 not looked up yet, -1 none */
	unsigned int chosen; /* number of its choice_item, from 1; 0 for none */
};

struct catalog {
	struct catalog_event *events;
	unsigned int nr;
};

int catalog_load(struct ktb_conn *conn, struct catalog *catalog);
void catalog_free(struct catalog *catalog);
struct catalog_event *catalog_find(const struct catalog *catalog, const char *name);
int catalog_type(struct catalog_event *event);
bool is_glob(const char *name);
bool name_matches(const char *pattern, const char *name);

/* choose.c: events named on the command line */
struct choice_item {
	const char *name; /* the catalog's, the counter's or the functions' */
	struct ktb_perf_event *counter; /* it is one, or NULL */
	struct ktb_functions *functions; /* it is calls of them, or NULL */
	unsigned int group; /* number of the -e that names it, 0: there is none */
	bool named; /* in full: it must succeed */
	bool excluded;
	bool count_only; /* it makes no records, even if the session does */
	bool attached;
	char *reason; /* why not */
	struct ktb_event_info event;
};

struct choice {
	struct catalog catalog;
	struct choice_item *items;
	unsigned int nr;
	unsigned int nr_named;
	unsigned int group; /* of what is added */
	char **excludes; /* patterns */
	unsigned int nr_excludes;
};

char *next_event(char **list);
const char *counter_reason(const char *text);

int choice_add(struct choice *choice, const char *name);
int choice_end(struct choice *choice);
void choice_free(struct choice *choice);

/* attach.c: attaching them */
struct tracing;

int choice_attach(struct choice *choice, struct ktb_conn *conn,
		  const struct ktb_session_info *session, const struct tracing *tracing);
void choice_tell_attached(const struct choice *choice, bool verbose);
void choice_note_skipped(const struct choice *choice, bool verbose);
struct json_object *choice_json(const struct choice *choice, bool attached);

/* selection.c: events of a session */
struct selection {
	struct ktb_session_info session;
	struct ktb_event_info *events; /* all of them */
	int nr;
	bool *chosen; /* which of them are meant */
};

uint64_t *selection_ids(const struct selection *selection, unsigned int *nr);
int selection_make(struct selection *selection, struct ktb_conn *conn, const char *session,
		   char **patterns);
void selection_free(struct selection *selection);

/* suggest.c */
unsigned int edit_distance(const char *a, const char *b);
unsigned int suggest(const struct catalog *catalog, const char *name, const char **near,
		     unsigned int max);

/* output.c */
int output_json(struct json_object *object);
int output_flush(void);
const char *clean_text(const char *text, size_t len, char *clean, size_t room);
struct json_object *json_text(const char *text, size_t len);

/* report.c: ledgers as a table and as JSON */
int ledger_width(const struct ktb_event_info *events, int nr);
void print_ledger_head(int width);
void print_ledger(int width, const char *name, const char *path, const struct ktb_ledger *ledger);
struct json_object *json_ledger(const struct ktb_ledger *ledger);
struct json_object *json_event(const struct ktb_event_info *event);

/* names.c: which event a sample is of */
struct names {
	struct ktb_conn *conn;
	struct ktb_formats *formats;
	uint32_t session;
	struct known_event *known; /* by id */
	unsigned int nr;
	char name[KTRACE_BRIDGE_EVENT_NAME_LEN + 1];
};

void names_init(struct names *names, struct ktb_conn *conn, struct ktb_formats *formats,
		uint32_t session);
void names_free(struct names *names);
const char *names_of(struct names *names, const struct ktb_sample *sample);

/* frames.c: call chains */
#define FRAMES_MAX 1024

const char *frame_symbol(const struct ktb_frame *frame);
const char *frame_dso(const struct ktb_frame *frame);
void print_frame(const struct ktb_frame *frame, const char *before);
struct json_object *json_frames(const struct ktb_frame *frames, unsigned int nr);

/* record.c: one record as a line */
struct printer {
	struct ktb_formats *formats;
	struct ktb_comms *comms;
	struct names names;
	struct ktb_stacks *stacks; /* made when there is a call chain */
	struct calls calls;
	bool json;
};

int print_record(struct printer *printer, const struct ktb_sample *sample);
int print_held(struct printer *printer, uint64_t before);
int put_json(struct json_object *object);
struct json_object *json_sample(struct ktb_formats *formats, const struct ktb_sample *sample,
				const char *comm, const char *event, const char *text);
struct json_object *json_lost(const struct ktb_sample *sample, const char *comm);

#endif /* KTBCTL_H */
