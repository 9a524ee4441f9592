// SPDX-License-Identifier: GPL-2.0-only
/*
 * Readers of every kind of manners. A reader is a child of its worker, which
 * waits for it to end, or kills it.
 */
#include "torture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAPS	4
#define PAGE	4096UL

/* What a reader has. */
struct reader {
	struct worker *w;
	struct ktb_session s;
	int fd;
	int cpu;	/* bound to, -1 for all */
	struct {
		char *at;
		size_t len;
		bool control;	/* a control page alone */
		bool writable;
	} map[MAPS];
};

/* A ring of those it is bound to. */
static int some_cpu(struct reader *r)
{
	int cpu = draw(&r->w->rng, CPUS);

	return r->cpu >= 0 ? r->cpu : cpu;
}

static void do_map(struct reader *r)
{
	int i = draw(&r->w->rng, MAPS), form = draw(&r->w->rng, 5), cpu = some_cpu(r);
	size_t data = r->s.ring_size;
	const struct {
		size_t at, len;
		int prot;
	} forms[] = {
		{ 0, PAGE, PROT_READ | PROT_WRITE },
		{ 0, PAGE, PROT_READ },
		{ PAGE, data, PROT_READ },
		{ PAGE, 2 * data, PROT_READ },
		{ 0, PAGE + 2 * data, PROT_READ },
	};
	char *at;

	begin(r->w, A_READER_MAP);
	if (r->map[i].at)
		munmap(r->map[i].at, r->map[i].len);
	at = mmap(NULL, forms[form].len, forms[form].prot, MAP_SHARED, r->fd,
		  ktb_ring_offset(cpu) + forms[form].at);
	r->map[i].at = at == MAP_FAILED ? NULL : at;
	r->map[i].len = forms[form].len;
	r->map[i].control = form <= 1;
	r->map[i].writable = form == 0;
	/* A CPU that never was online while the session lived has no ring. */
	end(r->w, A_READER_MAP, at == MAP_FAILED ? -errno : 0, ENXIO);
}

static void do_unmap(struct reader *r, bool part)
{
	int i = draw(&r->w->rng, MAPS);
	size_t from = 0, len = r->map[i].len;

	if (!r->map[i].at || (part && len < 3 * PAGE))
		return;
	if (part) {
		from = PAGE * (1 + draw(&r->w->rng, len / PAGE - 2));
		len = PAGE;
	}
	begin(r->w, part ? A_READER_UNMAP_PART : A_READER_UNMAP);
	end(r->w, part ? A_READER_UNMAP_PART : A_READER_UNMAP,
	    munmap(r->map[i].at + from, len) ? -errno : 0);
	/* The rest of a map with a hole is unmapped by the end of the process. */
	r->map[i].at = NULL;
}

/* What must not be granted. */
static void do_protect(struct reader *r)
{
	int i = draw(&r->w->rng, MAPS);
	char *at = r->map[i].at;
	size_t len = r->map[i].len;

	if (!at)
		return;
	begin(r->w, A_READER_PROTECT);
	if (!mprotect(at, len, PROT_READ | PROT_EXEC))
		complain(r->w, "a mapping may be made executable");
	if (!r->map[i].control && !mprotect(at, len, PROT_READ | PROT_WRITE))
		complain(r->w, "a mapping may be made writable");
	if (mremap(at, len, len + PAGE, MREMAP_MAYMOVE) != MAP_FAILED)
		complain(r->w, "a mapping may grow");
	end(r->w, A_READER_PROTECT, 0);
}

/* Read in place, as long as there is anything, up to a bound. */
static void do_walk(struct reader *r)
{
	int bound = draw(&r->w->rng, 2000), cpu = some_cpu(r), error;
	bool release = draw(&r->w->rng, 4);
	const struct perf_event_header *h;
	struct ktb_sample s;
	struct ktb_ring ring;

	begin(r->w, A_READER_WALK);
	error = ktb_ring_map(&ring, r->fd, cpu);
	if (!error && ring.size == r->s.ring_size) {
		while (bound-- && (h = ktb_ring_next(&ring)))
			ktb_record_parse(h, &s);
		if (release)
			ktb_ring_release(&ring);
		ktb_ring_unmap(&ring);
	}
	/* The size of the data is what the page says, and somebody may have scribbled. */
	end(r->w, A_READER_WALK, error, ENXIO, EINVAL, ENOMEM, EOVERFLOW);
}

static void do_read(struct reader *r)
{
	static char buf[65536];
	size_t len = draw(&r->w->rng, 3) ? draw(&r->w->rng, sizeof(buf)) : draw(&r->w->rng, 300);
	bool block = draw(&r->w->rng, 4) == 0;

	begin(r->w, A_READER_READ);
	fcntl(r->fd, F_SETFL, block ? 0 : O_NONBLOCK);
	/* EIO: somebody scribbled. EOPNOTSUPP: it overwrites. */
	end(r->w, A_READER_READ, read(r->fd, buf, len) < 0 ? -errno : 0,
	    EAGAIN, EMSGSIZE, EIO, EOPNOTSUPP);
}

static void do_poll(struct reader *r)
{
	struct pollfd p = { .fd = r->fd, .events = POLLIN };

	begin(r->w, A_READER_POLL);
	end(r->w, A_READER_POLL, poll(&p, 1, draw(&r->w->rng, 60)) < 0 ? -errno : 0);
}

static void do_epoll(struct reader *r)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(EPOLL_CLOEXEC);

	begin(r->w, A_READER_EPOLL);
	if (draw(&r->w->rng, 2))
		ev.events |= EPOLLET;
	end(r->w, A_READER_EPOLL, epoll_ctl(ep, EPOLL_CTL_ADD, r->fd, &ev) ? -errno : 0);
	epoll_wait(ep, &ev, 1, draw(&r->w->rng, 60));
	/* Else the reader's end takes it off. */
	if (draw(&r->w->rng, 2))
		close(ep);
}

static void do_ioctl(struct reader *r)
{
	static const unsigned long menu[] = {
		KTB_IOC_ENABLE, KTB_IOC_ENABLE, KTB_IOC_DISABLE, KTB_IOC_FLUSH, KTB_IOC_FLUSH,
	};

	begin(r->w, A_READER_IOCTL);
	end(r->w, A_READER_IOCTL, ioctl(r->fd, menu[draw(&r->w->rng, 5)]) ? -errno : 0, ENOENT);
}

/* Left frozen at times, for the end of the descriptor to thaw. */
static void do_freeze(struct reader *r)
{
	bool thaw = draw(&r->w->rng, 2);

	begin(r->w, A_READER_FREEZE);
	end(r->w, A_READER_FREEZE, ioctl(r->fd, KTB_IOC_FREEZE) ? -errno : 0, EOPNOTSUPP);
	sleep_ms(draw(&r->w->rng, 10));
	if (thaw)
		ioctl(r->fd, KTB_IOC_THAW);
}

/* Any word of a control page: the kernel is to trust none. */
static void do_scribble(struct reader *r)
{
	int i = draw(&r->w->rng, MAPS), words = 1 + draw(&r->w->rng, 40);
	struct rng *rng = &r->w->rng;
	struct ktb_ring_page *page;
	__u64 *word;

	if (!r->map[i].at || !r->map[i].writable)
		return;
	begin(r->w, A_READER_SCRIBBLE);
	page = (void *)r->map[i].at;
	while (words--) {
		__u64 value = (__u64)draw(rng, ~0U) << 32 | draw(rng, ~0U);
		__u64 near = page->data_head + draw(rng, 70000) - 35000;

		word = draw(rng, 2) ? &page->data_tail : (__u64 *)page + draw(rng, PAGE / 8);
		__atomic_store_n(word, draw(rng, 2) ? near : value, __ATOMIC_RELAXED);
	}
	end(r->w, A_READER_SCRIBBLE, 0);
}

static void reader_act(struct reader *r);

static void do_fork(struct reader *r)
{
	int acts = draw(&r->w->rng, 6);
	__u64 state = (__u64)draw(&r->w->rng, ~0U) << 32;
	pid_t child = fork();

	begin(r->w, A_READER_FORK);
	if (child) {
		end(r->w, A_READER_FORK, child < 0 ? -errno : 0);
		return;
	}
	r->w->rng.state = state;
	while (acts--)
		reader_act(r);
	_exit(0);
}

static void do_close(struct reader *r)
{
	int fd;

	begin(r->w, A_READER_CLOSE);
	fd = dup(r->fd);
	close(r->fd);
	/* The mappings keep the binding, by whatever descriptor they were made. */
	r->fd = fd;
	end(r->w, A_READER_CLOSE, 0);
}

static void do_stall(struct reader *r)
{
	begin(r->w, A_READER_STALL);
	sleep_ms(draw(&r->w->rng, 100));
	end(r->w, A_READER_STALL, 0);
}

static void reader_act(struct reader *r)
{
	switch (draw(&r->w->rng, 22)) {
	case 0 ... 4:
		do_map(r);
		break;
	case 5:
		do_unmap(r, false);
		break;
	case 6:
		do_unmap(r, true);
		break;
	case 7:
		do_protect(r);
		break;
	case 8 ... 9:
		do_walk(r);
		break;
	case 10 ... 11:
		do_read(r);
		break;
	case 12:
		do_poll(r);
		break;
	case 13:
		do_epoll(r);
		break;
	case 14:
		do_ioctl(r);
		break;
	case 15 ... 16:
		do_scribble(r);
		break;
	case 17:
		do_fork(r);
		break;
	case 18:
		do_close(r);
		break;
	case 19 ... 20:
		do_freeze(r);
		break;
	default:
		do_stall(r);
	}
}

static void reader_child(struct worker *w, void *arg)
{
	struct reader *r = arg;
	int acts = 5 + draw(&w->rng, 20);

	while (acts--) {
		reader_act(r);
		child_acted(w);
	}
}

/*
 * Somebody wants to unload: come and go at the device, so that an open(2) and
 * the unload meet, but do not stay.
 */
static void knock(struct worker *w)
{
	int fd = ktb_dev_open();

	if (fd >= 0)
		close(fd);
	end(w, A_READER_BIND, fd < 0 ? fd : 0);
}

static void reader_step(struct worker *w)
{
	struct reader r = { .w = w };
	unsigned int acts = draw(&w->rng, 40), ms = draw(&w->rng, 10);
	pid_t child;
	int error;

	begin(w, A_READER_BIND);
	if (__atomic_load_n(&shared->keep_off, __ATOMIC_RELAXED)) {
		knock(w);
		return;
	}
	r.cpu = draw(&w->rng, 2) ? -1 : (int)draw(&w->rng, CPUS);
	error = find_session(w, draw_session(&w->rng), &r.s);
	r.fd = error ? error : ktb_dev_open_bind(r.s.id, r.cpu);
	end(w, A_READER_BIND, r.fd < 0 ? r.fd : 0, ENOENT, EBUSY, ENODATA, ENXIO);
	if (r.fd < 0)
		return;
	child = start_child(w, reader_child, &r);
	close(r.fd);
	if (child < 0)
		return;
	if (child_ended(w, child, acts)) {
		end(w, A_READER_ENDED, 0);
	} else {
		begin(w, A_READER_KILLED);
		sleep_ms(ms);
		end(w, A_READER_KILLED, 0);
	}
	kill_family(child);
}

const struct kind reader_kind = {
	.name = "reader", .step = reader_step, .rest = control_close, .pause = 20,
};
