/* SPDX-License-Identifier: LGPL-2.1-only */
/* What the parts of libktb share; nothing of it is exported. */
#ifndef KTB_INTERNAL_H
#define KTB_INTERNAL_H

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <time.h>

#include "ktb.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define KTB_ERROR_LEN 512
/* Bytes of the kernel's long, which a 32-bit tool's may be shorter than. */
#define KERNEL_LONG 8
#define KTB_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define KTB_NOT_LOADED \
	"the ktrace_bridge module is not loaded: load ktrace_bridge first (insmod ktrace_bridge.ko)"

/* A clock that is cheap, and good enough for how old something is. */
static inline uint64_t ktb_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* function.c */
const char *ktb_format_name(const char *name);

/* array.c */
void *ktb_array_more(void *array, unsigned int nr, size_t size);

/* extack.c: what the kernel says of a refusal */
struct ktb_extack {
	char text[256];
	const char *attr;
	bool missing;
};

void ktb_extack_parse(struct ktb_extack *extack, struct nlattr *tlvs, int len,
		      const struct nlmsghdr *request);

/* conn.c */
struct ktb_conn {
	struct nl_sock *sock;
	int family;
	char error[KTB_ERROR_LEN];
	const char *error_attr;
};

struct ktb_parse {
	int (*attrs)(struct nlattr *head, int len, void *arg);
	void *arg;
};

int ktb_conn_fail(struct ktb_conn *conn, int err, const char *format, ...) KTB_PRINTF(3, 4);
int ktb_conn_fail_nl(struct ktb_conn *conn, int nlerr, const char *what);
int ktb_request_new(struct ktb_conn *conn, int cmd, int flags, struct nl_msg **request);
int ktb_request_send(struct ktb_conn *conn, struct nl_msg *request, const struct ktb_parse *parse);
uint64_t ktb_attr_uint(const struct nlattr *attr);
void ktb_attr_text(const struct nlattr *attr, char *text, size_t len);

/* ring.c */
struct ktb_ring {
	struct ktb_ring_page *page;
	const uint8_t *data;
	size_t page_len;
	size_t data_len;
	unsigned int cpu;
	uint64_t size;
	uint64_t sample_type;
	uint64_t pos; /* of the next record to hand out */
	uint64_t head; /* as ktb_ring_begin() saw it */

	/* Of an overwrite session, @pos and @head are those of the frozen ring. */
	bool overwrite;
	bool held; /* frozen */
	uint64_t newest; /* position of the newest record */
	const struct perf_event_header **records; /* room for ktb_ring_records() */
};

int ktb_ring_map(struct ktb_ring *ring, int fd, unsigned int cpu);
void ktb_ring_unmap(struct ktb_ring *ring);
int ktb_ring_check(struct ktb_ring *ring);
void ktb_ring_release_to(struct ktb_ring *ring, uint64_t pos);

/* overwrite.c */
void ktb_ring_hold(struct ktb_ring *ring);

static inline const struct perf_event_header *ktb_ring_record(const struct ktb_ring *ring,
							      uint64_t pos)
{
	return (const void *)(ring->data + (pos & (ring->size - 1)));
}

/* reader.c */
struct ktb_reader {
	int fd;
	int cpu;
	bool overwrite; /* the session is to be one */
	bool exclude_self;
	unsigned int nr_rings;
	struct ktb_ring **rings;
	char error[KTB_ERROR_LEN];
};

int ktb_reader_fail(struct ktb_reader *reader, int err, const char *format, ...) KTB_PRINTF(3, 4);

/* sample.c */

/* Where a record's time is: from its beginning in a sample, else from its end. */
struct ktb_time_place {
	unsigned int in_sample;
	unsigned int from_end;
};

unsigned int ktb_sample_id_size(uint64_t type);
void ktb_time_place(uint64_t sample_type, struct ktb_time_place *place);
uint64_t ktb_record_time(const struct ktb_time_place *place,
			 const struct perf_event_header *record);

/* kallsyms.c */
struct ktb_kallsyms;

struct ktb_kallsyms *ktb_kallsyms_load(const char *path);
struct ktb_kallsyms *ktb_kallsyms_load_live(const char *proc);
bool ktb_kallsyms_refresh(struct ktb_kallsyms *syms, uint64_t addr);
void ktb_kallsyms_free(struct ktb_kallsyms *syms);
char *ktb_kallsyms_find(struct ktb_kallsyms *syms, unsigned long long *addr, char **module);
uint64_t ktb_kallsyms_address(const struct ktb_kallsyms *syms, const char *name);

/* formats.c */

/* Name of the function at *@addr, in the form libtraceevent wants. */
typedef char *ktb_resolve_fn(void *arg, unsigned long long *addr, char **module);

/* Two fields of an event that together tell a thread's name. */
struct ktb_comm_source {
	int type;
	struct tep_format_field *tid;
	struct tep_format_field *comm;
};

/* What tracefs said of an event. */
struct ktb_loaded_format {
	int id;
	char *system;
	char *text;
};

struct ktb_formats {
	struct tep_handle *tep;
	struct trace_seq *seq;
	ktb_resolve_fn *resolve;
	void *resolve_arg;
	struct ktb_loaded_format *loaded;
	unsigned int nr_loaded;
	uint8_t *raw; /* a record's copy, and zeros */
	size_t raw_size;
	struct ktb_kallsyms *syms;
	bool syms_tried;
	unsigned int nr_comm_sources;
	struct ktb_comm_source comm_sources[16];
	char error[KTB_ERROR_LEN];
};

struct ktb_formats *ktb_formats_new_empty(ktb_resolve_fn *resolve, void *arg);
bool ktb_formats_are_sane(const struct ktb_formats *formats);
struct tep_event *ktb_formats_event(struct ktb_formats *formats, const struct ktb_sample *sample);

/* filter.c */
const char *ktb_verifier_reason(char *log);

/* fields.c */
bool ktb_field_read(const struct tep_format_field *format, const struct ktb_sample *sample,
		    struct ktb_field *field);

/* comms.c */
void ktb_comms_add_source(struct ktb_formats *formats, struct tep_event *event);

#endif /* KTB_INTERNAL_H */
