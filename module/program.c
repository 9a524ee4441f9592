// SPDX-License-Identifier: GPL-2.0-only
/*
 * BPF programs that say of each hit of an event whether it is taken. Loaded,
 * verified and compiled by the kernel; handed over as a descriptor. Process
 * context, under ktb_lock, but for ktb_program_run_alone(); what probes do with a
 * program is in program.h and submit.c.
 */

#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/mutex.h>
#include <linux/netlink.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "native/native.h"
#include "perfcore.h"
#include "program.h"
#include "session.h"

struct ktb_aside __percpu *ktb_asides[KTB_NR_ASIDES];

static unsigned int ktb_aside_users;	/* events with a program; ktb_lock */

static DEFINE_PER_CPU(unsigned int, ktb_program_active);

static void ktb_asides_free(void)
{
	unsigned int i;

	for (i = 0; i < KTB_NR_ASIDES; i++) {
		free_percpu(ktb_asides[i]);
		ktb_asides[i] = NULL;
	}
}

/* One allocation for each context: per-CPU memory comes in small units. */
static int ktb_asides_get(void)
{
	unsigned int i;

	if (!ktb_aside_users) {
		for (i = 0; i < KTB_NR_ASIDES; i++) {
			ktb_asides[i] = alloc_percpu_gfp(struct ktb_aside,
							 GFP_KERNEL_ACCOUNT | __GFP_ZERO);
			if (!ktb_asides[i]) {
				ktb_asides_free();
				return -ENOMEM;
			}
		}
	}
	ktb_aside_users++;
	return 0;
}

static void ktb_asides_put(void)
{
	if (!--ktb_aside_users)
		ktb_asides_free();
}

/**
 * ktb_program_run_alone - ask a program that calls something
 * @prog: the program
 * @context: what it expects
 *
 * What it calls may take the lock of a map, hit events while it holds it, and be
 * interrupted by an NMI: so no second one of ours is entered on a CPU, as the kernel
 * does with its own programs of these types by bpf_prog_active, which modules do not
 * get to see. As ktb_program_run() otherwise.
 *
 * Return: 1, 0 or -EBUSY as ktb_program_run() does.
 */
int ktb_program_run_alone(struct bpf_prog *prog, const void *context)
{
	/* Helpers look for what the event was attached with: nothing. */
	struct bpf_trace_run_ctx run_ctx = {};
	struct bpf_run_ctx *outer;
	int keep = -EBUSY;

	if (likely(this_cpu_inc_return(ktb_program_active) == 1)) {
		outer = bpf_set_run_ctx(&run_ctx.run_ctx);
		/* Maps say in lockdep's terms that they are read under RCU's own lock. */
		rcu_read_lock();
		keep = !!bpf_prog_run(prog, context);
		rcu_read_unlock();
		bpf_reset_run_ctx(outer);
	}
	this_cpu_dec(ktb_program_active);
	return keep;
}

/* Whether @fd is a program of another type, for a better answer. */
static bool ktb_program_is(int fd, enum bpf_prog_type type)
{
	struct bpf_prog *prog = bpf_prog_get_type_dev(fd, type, false);

	if (IS_ERR(prog))
		return false;
	bpf_prog_put(prog);
	return true;
}

/*
 * A program that calls nothing and has no maps sees but the record, and of that not
 * the first 8 bytes: the verifier lets it have them no more than write to it. So it
 * can be shown the record in the ring, where it is not aligned to 8. One whose types
 * are known may be replaced by another (BPF_PROG_TYPE_EXT) at any time.
 */
static bool ktb_program_is_pure(const struct bpf_prog *prog)
{
	const struct bpf_func_info_aux *types = prog->aux->func_info_aux;
	unsigned int i;

	if (!IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) || prog->aux->used_map_cnt ||
	    ktb_program_has_own_stack(prog) || (types && !types->unreliable))
		return false;
	for (i = 0; i < prog->len; i++) {
		u8 code = prog->insnsi[i].code;

		if (BPF_CLASS(code) != BPF_JMP)
			continue;
		/* The last two are the kernel's own codes, for calls of other kinds. */
		if (BPF_OP(code) == BPF_CALL || BPF_OP(code) == 0xe0 || BPF_OP(code) == 0xf0)
			return false;
	}
	return true;
}

/* The perf event whose overflows fire, NULL for what has a record. */
static const struct perf_event_attr *ktb_program_overflow(const struct ktb_event *event)
{
	const struct perf_event_attr *attr = ktb_perfcore_attr(event);

	return attr && attr->type != PERF_TYPE_TRACEPOINT ? attr : NULL;
}

static struct bpf_prog *ktb_program_get(int fd, enum bpf_prog_type type,
					struct netlink_ext_ack *extack)
{
	struct bpf_prog *prog = bpf_prog_get_type_dev(fd, type, false);

	if (!IS_ERR(prog))
		return prog;
	if (PTR_ERR(prog) == -EBADF)
		NL_SET_ERR_MSG(extack, "program: not an open descriptor");
	else if (ktb_program_is(fd, BPF_PROG_TYPE_TRACEPOINT))
		NL_SET_ERR_MSG(extack,
			       "program: this perf event takes a BPF program of type perf_event, this one is of type tracepoint");
	else if (ktb_program_is(fd, BPF_PROG_TYPE_PERF_EVENT))
		NL_SET_ERR_MSG(extack,
			       "program: this event takes a BPF program of type tracepoint, this one is of type perf_event");
	else if (type == BPF_PROG_TYPE_TRACEPOINT)
		NL_SET_ERR_MSG(extack, "program: not a BPF program of type tracepoint");
	else
		NL_SET_ERR_MSG(extack, "program: not a BPF program of type perf_event");
	return prog;
}

/*
 * The bytes that each record has. Of events without a native probe that is not to
 * be known here: what a program reads beyond a record is zeroes then.
 */
static unsigned int ktb_program_record_size(const struct ktb_event *event)
{
	return event->native ? event->native->size : PERF_MAX_TRACE_SIZE;
}

/* Maps with locks that are taken in an NMI too, without a look at who holds them. */
static bool ktb_map_blocks(enum bpf_map_type type)
{
	return type == BPF_MAP_TYPE_LRU_HASH || type == BPF_MAP_TYPE_LRU_PERCPU_HASH ||
	       type == BPF_MAP_TYPE_PROG_ARRAY; /* whose programs have who knows what */
}

/* Maps that allocate memory under their lock: an event of that may come back to it. */
static bool ktb_map_allocates(enum bpf_map_type type)
{
	return type == BPF_MAP_TYPE_LPM_TRIE;
}

static bool ktb_program_has_map(const struct bpf_prog *prog, bool (*is)(enum bpf_map_type))
{
	const struct bpf_map *map;
	bool has = false;
	unsigned int i;

	mutex_lock(&prog->aux->used_maps_mutex);
	for (i = 0; i < prog->aux->used_map_cnt && !has; i++) {
		map = prog->aux->used_maps[i];
		has = is(map->inner_map_meta ? map->inner_map_meta->map_type : map->map_type);
	}
	mutex_unlock(&prog->aux->used_maps_mutex);
	return has;
}

static int ktb_program_check(const struct ktb_event *event, const struct bpf_prog *prog,
			     struct netlink_ext_ack *extack)
{
	const struct perf_event_attr *attr = ktb_program_overflow(event);

	if (ktb_program_sleeps(prog)) {
		NL_SET_ERR_MSG(extack, "program: may sleep, which no event can wait for");
		return -EINVAL;
	}
	if (!attr && prog->aux->max_ctx_offset > ktb_program_record_size(event)) {
		ktb_set_size_msg(extack, "program: reads beyond the event's record",
				 ktb_program_record_size(event));
		return -EACCES;
	}
	/* The kernel, which may run it too, does not know of our runs, nor we of its. */
	if (ktb_program_has_own_stack(prog) && !capable(CAP_SYS_ADMIN)) {
		NL_SET_ERR_MSG(extack,
			       "program: has 64 bytes of stack or more, which all its runs on a CPU share here: that needs CAP_SYS_ADMIN");
		return -EPERM;
	}
	if (ktb_program_has_map(prog, ktb_map_allocates)) {
		NL_SET_ERR_MSG(extack,
			       "program: LPM tries cannot be used, their lock is held where events hit");
		return -EINVAL;
	}
	if (attr && ktb_program_has_map(prog, ktb_map_blocks)) {
		NL_SET_ERR_MSG(extack,
			       "program: LRU hashes and tail calls cannot be used where each hit may be in an NMI");
		return -EINVAL;
	}
	/* perf's own rule: the registers of a precise event are not where the stack is. */
	if (attr && attr->precise_ip && prog->call_get_stack) {
		NL_SET_ERR_MSG(extack,
			       "program: takes callchains, which a precise event (:p) has not");
		return -EPROTO;
	}
	return 0;
}

/**
 * ktb_program_set - give an event its program
 * @event: the event, with its source, not hit yet
 * @options: which, by a descriptor of the current process
 * @extack: takes the reason of a refusal
 *
 * Counterpart of perf_event_set_bpf_prog().
 *
 * Return: 0, or
 * * -EBADF - no open descriptor
 * * -EINVAL - not a program, or not of the type that the event takes, or with a map
 *   that is of no use there
 * * -EACCES - it reads beyond the event's record
 * * -EPROTO - it takes callchains of a precise event
 * * -EPERM - what it may disturb is the administrator's business
 * * -EOPNOTSUPP - the event takes none
 * * -ENOMEM - out of memory
 */
int ktb_program_set(struct ktb_event *event, const struct ktb_program_options *options,
		    struct netlink_ext_ack *extack)
{
	struct bpf_prog *prog;
	int err;

	if (!options->given)
		return 0;
	if (event->function || event->graph) {
		NL_SET_ERR_MSG(extack, "program: events of functions take none");
		return -EOPNOTSUPP;
	}
	prog = ktb_program_get(options->fd, ktb_program_overflow(event) ?
			       BPF_PROG_TYPE_PERF_EVENT : BPF_PROG_TYPE_TRACEPOINT, extack);
	if (IS_ERR(prog))
		return PTR_ERR(prog);
	err = ktb_program_check(event, prog, extack);
	if (err)
		goto err_put;
	err = -ENOMEM;
	if (options->text) {
		event->program_text = kstrdup(options->text, GFP_KERNEL_ACCOUNT);
		if (!event->program_text)
			goto err_memory;
	}
	if (ktb_asides_get())
		goto err_memory;
	event->program = prog;
	event->program_reach = prog->aux->max_ctx_offset;
	event->program_pure = ktb_program_is_pure(prog);
	event->program_blocks = ktb_program_has_map(prog, ktb_map_blocks);
	return 0;

err_memory:
	NL_SET_ERR_MSG(extack, "out of memory");
	kfree(event->program_text);
	event->program_text = NULL;
err_put:
	bpf_prog_put(prog);
	return err;
}

/**
 * ktb_program_clear - take an event's program away
 * @event: the event, whose last probe has returned
 */
void ktb_program_clear(struct ktb_event *event)
{
	if (!event->program)
		return;
	bpf_prog_put(event->program);
	ktb_asides_put();
	kfree(event->program_text);
	event->program = NULL;
}
