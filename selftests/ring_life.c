// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of mappings, beyond ring_map.c: madvise, mprotect, beyond the end, and
 * who goes first, mapping, descriptor, process, session or module.
 */
#include "ktb_test.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define ENTER		"raw_syscalls:sys_enter"
#define PAGE		4096UL
#define RING_SIZE	(8 * PAGE)

FIXTURE(life)
{
	struct ktb_nl nl;
	struct ktb_session s;
	struct ktb_ring ring;
	int fd;
};

FIXTURE_SETUP(life)
{
	ASSERT_CONTROL(&self->nl);
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_life", 0, RING_SIZE, &self->s));
	self->fd = ktb_dev_open_bind(self->s.id, -1);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, ktb_ring_map(&self->ring, self->fd, 0));
}

FIXTURE_TEARDOWN(life)
{
	close(self->fd);
	ktb_session_sweep(&self->nl);
	ktb_nl_close(&self->nl);
}

static sigjmp_buf fault_jump;

static void on_fault(int sig)
{
	siglongjmp(fault_jump, sig);
}

/* The signal that reading a byte gives, 0 if it can be read. */
static int fault_of(const char *at)
{
	struct sigaction action = { .sa_handler = on_fault }, segv, bus;
	int sig;

	sigaction(SIGSEGV, &action, &segv);
	sigaction(SIGBUS, &action, &bus);
	sig = sigsetjmp(fault_jump, 1);
	if (!sig)
		(void)__atomic_load_n(at, __ATOMIC_RELAXED);
	sigaction(SIGSEGV, &segv, NULL);
	sigaction(SIGBUS, &bus, NULL);
	return sig;
}

static int hit(struct ktb_nl *nl, __u32 session, int count)
{
	struct ktb_worker w = { .cpu = 0, .work = ktb_work_syscalls, .count = count };
	struct ktb_event e;
	int error = ktb_worker_start(&w);

	if (error)
		return error;
	error = ktb_event_attach(nl, session, ENTER, w.tid, &e);
	if (!error) {
		ktb_worker_go(&w);
		if (!ktb_worker_wait(&w))
			error = -ETIMEDOUT;
		ktb_event_detach(nl, session, e.id, NULL);
	}
	ktb_worker_finish(&w);
	return error;
}

static int unload(void)
{
	return syscall(SYS_delete_module, "ktrace_bridge", O_NONBLOCK) ? -errno : 0;
}

static __u64 samples(struct ktb_ring *ring)
{
	struct ktb_walk walk = {};

	ktb_ring_walk(ring, &walk, NULL, NULL);
	return walk.malformed ? 0 : walk.samples;
}

/* 1 if a child can read there, 0 if it has nothing there, else it did not get that far. */
static int child_reads(const char *at)
{
	pid_t pid = fork();
	int sig;

	if (!pid) {
		sig = fault_of(at);
		_exit(!sig ? 1 : sig == SIGSEGV ? 0 : 2);
	}
	return ktb_reap(pid);
}

/* A child gets what it may have, and no more. */
TEST_F(life, dontfork)
{
	struct ktb_ring *ring = &self->ring, again;
	pid_t pid;

	EXPECT_EQ(1, child_reads(ring->data));
	ASSERT_EQ(0, madvise((void *)ring->data, 2 * RING_SIZE, MADV_DONTFORK));
	EXPECT_EQ(0, child_reads(ring->data));
	EXPECT_EQ(1, child_reads((char *)ring->page));
	ASSERT_EQ(0, madvise(ring->page, PAGE, MADV_DONTFORK));
	EXPECT_EQ(0, child_reads((char *)ring->page));

	/* Of another mapping that says nothing. */
	ASSERT_EQ(0, ktb_ring_map(&again, self->fd, 0));
	ASSERT_EQ(0, hit(&self->nl, self->s.id, 7));
	pid = fork();
	if (!pid)
		_exit(samples(&again) != 7);
	EXPECT_EQ(0, ktb_reap(pid));
	ktb_ring_unmap(&again);
}

static int error_of_dofork(void *at, size_t len)
{
	return madvise(at, len, MADV_DOFORK) ? errno : 0;
}

/*
 * Until some time before 7.3, MADV_DOFORK was refused for memory of devices (VM_IO)
 * alone; since then for all that cannot be made longer (VM_DONTEXPAND), as what maps
 * kernel memory never can. The vDSO is such a mapping too: what the kernel lets have
 * of that, it lets have of a ring. Refused, nothing has changed.
 */
TEST_F(life, dofork)
{
	struct ktb_ring *ring = &self->ring;
	int error = error_of_dofork((void *)getauxval(AT_SYSINFO_EHDR), PAGE);

	TH_LOG("vDSO: %s", strerror(error));
	ASSERT_TRUE(!error || error == EINVAL);
	ASSERT_EQ(0, madvise(ring->page, PAGE, MADV_DONTFORK));
	EXPECT_EQ(error, error_of_dofork(ring->page, PAGE));
	EXPECT_EQ(!error, child_reads((char *)ring->page));
	ASSERT_EQ(0, madvise((void *)ring->data, 2 * RING_SIZE, MADV_DONTFORK));
	EXPECT_EQ(error, error_of_dofork((void *)ring->data, 2 * RING_SIZE));
	EXPECT_EQ(!error, child_reads(ring->data));
	ASSERT_EQ(0, hit(&self->nl, self->s.id, 7));
	EXPECT_EQ(7, samples(ring));
}

/* Advice to the kernel about pages that it cannot take changes nothing. */
TEST_F(life, advice)
{
	static const int advice[] = {
		MADV_REMOVE, MADV_FREE, MADV_WIPEONFORK, MADV_COLD, MADV_PAGEOUT,
		MADV_MERGEABLE, MADV_HUGEPAGE, MADV_WILLNEED, MADV_POPULATE_WRITE,
	};
	struct ktb_ring *ring = &self->ring;

	ASSERT_EQ(0, hit(&self->nl, self->s.id, 20));
	for (size_t i = 0; i < ARRAY_SIZE(advice); i++) {
		madvise((void *)ring->data, 2 * RING_SIZE, advice[i]);
		madvise(ring->page, PAGE, advice[i]);
		ASSERT_EQ(0, fault_of(ring->data))
			TH_LOG("advice %d", advice[i]);
		ASSERT_EQ(0, fault_of((char *)ring->page));
	}
	mlock(ring->data, 2 * RING_SIZE);
	EXPECT_EQ(KTB_RING_MAGIC, ring->page->magic);
	EXPECT_EQ(20, samples(ring));
	ASSERT_EQ(0, hit(&self->nl, self->s.id, 5));
	EXPECT_EQ(5, samples(ring));
}

/* Pages thrown away are gone from this mapping; another one has them all. */
TEST_F(life, dontneed)
{
	struct ktb_ring again;

	ASSERT_EQ(0, hit(&self->nl, self->s.id, 20));
	ASSERT_EQ(0, madvise((void *)self->ring.data, 2 * RING_SIZE, MADV_DONTNEED));
	EXPECT_EQ(SIGBUS, fault_of(self->ring.data));
	EXPECT_EQ(SIGBUS, fault_of(self->ring.data + 2 * RING_SIZE - 1));
	ASSERT_EQ(0, ktb_ring_map(&again, self->fd, 0));
	EXPECT_EQ(20, samples(&again));
	ktb_ring_unmap(&again);
}

TEST_F(life, exec)
{
	struct ktb_ring *ring = &self->ring;

	EXPECT_EQ(MAP_FAILED, mmap(NULL, RING_SIZE, PROT_READ | PROT_EXEC, MAP_SHARED, self->fd,
				   PAGE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect((void *)ring->data, PAGE, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(ring->page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	/* Nor for a part of it, or after it was taken away. */
	EXPECT_EQ(0, mprotect((void *)ring->data, 2 * RING_SIZE, PROT_NONE));
	EXPECT_EQ(SIGSEGV, fault_of(ring->data));
	EXPECT_EQ(-1, mprotect((void *)(ring->data + PAGE), PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(0, mprotect((void *)ring->data, 2 * RING_SIZE, PROT_READ));
	EXPECT_EQ(0, fault_of(ring->data));
}

/* Nothing of the kernel is to be had behind the ring's end, nor in front. */
TEST_F(life, beyond_the_end)
{
	static const long offsets[] = {
		PAGE + 2 * RING_SIZE, PAGE + RING_SIZE, 2 * RING_SIZE, KTB_RING_STRIDE - PAGE,
		KTB_RING_STRIDE / 2,
	};
	void *at;

	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		for (size_t len = PAGE; len <= 4 * RING_SIZE; len *= 2) {
			at = mmap(NULL, len, PROT_READ, MAP_SHARED, self->fd, offsets[i]);
			EXPECT_EQ(MAP_FAILED, at)
				TH_LOG("%zu bytes at %ld", len, offsets[i]);
			EXPECT_EQ(EINVAL, errno);
		}
	}
	/* Across into the next CPU's ring, and around 2^64. */
	EXPECT_EQ(MAP_FAILED, mmap(NULL, KTB_RING_STRIDE + PAGE, PROT_READ, MAP_SHARED, self->fd,
				   0));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd, -(long)PAGE));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 1UL << 40, PROT_READ, MAP_SHARED, self->fd, PAGE));
}

enum step { CLOSE, UNMAP_PAGE, UNMAP_DATA, DEL, STEPS };

/* Each order in which descriptor, mappings and session can go. */
static void go(struct __test_metadata *_metadata, FIXTURE_DATA(life) *self, enum step step)
{
	switch (step) {
	case CLOSE:
		EXPECT_EQ(0, close(self->fd));
		break;
	case UNMAP_PAGE:
		EXPECT_EQ(KTB_RING_MAGIC, self->ring.page->magic);
		EXPECT_EQ(0, munmap(self->ring.page, PAGE));
		break;
	case UNMAP_DATA:
		EXPECT_EQ(0, memcmp(self->ring.data, self->ring.data + RING_SIZE, RING_SIZE));
		EXPECT_EQ(0, munmap((void *)self->ring.data, 2 * RING_SIZE));
		break;
	default:
		EXPECT_EQ(0, ktb_session_del(&self->nl, self->s.id));
	}
}

TEST_F_TIMEOUT(life, any_order, 60)
{
	int order[STEPS];

	close(self->fd);
	ktb_ring_unmap(&self->ring);
	ASSERT_EQ(0, ktb_session_del(&self->nl, self->s.id));
	for (int n = 0; n < 24; n++) {
		int left[STEPS] = { CLOSE, UNMAP_PAGE, UNMAP_DATA, DEL };
		int digits = n;

		/* The n-th permutation. */
		for (int i = 0; i < STEPS; i++) {
			int at = digits % (STEPS - i);

			digits /= STEPS - i;
			order[i] = left[at];
			memmove(left + at, left + at + 1, (STEPS - 1 - at) * sizeof(*left));
		}
		ASSERT_EQ(0, ktb_session_new(&self->nl, "t_order", 0, RING_SIZE, &self->s));
		self->fd = ktb_dev_open_bind(self->s.id, 0);
		ASSERT_LE(0, self->fd);
		ASSERT_EQ(0, ktb_ring_map(&self->ring, self->fd, 0));
		ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, ENTER, 0, NULL));
		for (int i = 0, held = STEPS - 1; i < STEPS; i++) {
			/* A descriptor or a mapping keeps the module, a session does not. */
			if (held) {
				EXPECT_EQ(-EWOULDBLOCK, unload())
					TH_LOG("order %d, step %d", n, i);
			}
			held -= order[i] != DEL;
			go(_metadata, self, order[i]);
		}
		EXPECT_EQ(0, ktb_session_count(&self->nl));
	}
	self->fd = -1;
}

/* Processes that end, by signal or not, with everything open and mapped. */
TEST_F_TIMEOUT(life, exits, 60)
{
	close(self->fd);
	ktb_ring_unmap(&self->ring);
	for (int n = 0; n < 8; n++) {
		struct ktb_session s;
		int ready[2], fd = -1;
		char c;
		pid_t pid;

		ASSERT_EQ(0, ktb_session_new(&self->nl, "t_exit", 0, RING_SIZE, &s));
		ASSERT_EQ(0, ktb_event_attach(&self->nl, s.id, ENTER, 0, NULL));
		ASSERT_EQ(0, pipe(ready));
		pid = fork();
		if (!pid) {
			struct ktb_ring ring;

			fd = ktb_dev_open_bind(s.id, -1);
			if (fd < 0 || ktb_ring_map(&ring, fd, 0))
				_exit(1);
			/* A grandchild has the mapping too, and goes later or sooner. */
			if (n & 4 && !fork())
				_exit(usleep(n & 1 ? 20000 : 0));
			if (write(ready[1], "", 1) != 1)
				_exit(1);
			if (n & 1)
				pause();
			_exit(0);
		}
		ASSERT_EQ(1, read(ready[0], &c, 1));
		close(ready[0]);
		close(ready[1]);
		if (n & 2) {
			EXPECT_EQ(0, ktb_session_del(&self->nl, s.id));
		}
		if (n & 1)
			kill(pid, SIGKILL);
		EXPECT_EQ(n & 1 ? 128 + SIGKILL : 0, ktb_reap(pid));
		if (!(n & 2)) {
			EXPECT_TRUE(ktb_wait_for((fd = ktb_dev_open_bind(s.id, -1)) != -EBUSY, 10));
			EXPECT_LE(0, fd);
			close(fd);
			EXPECT_EQ(0, ktb_session_del(&self->nl, s.id));
		}
	}
	self->fd = -1;
}

TEST_HARNESS_MAIN
