// SPDX-License-Identifier: GPL-2.0-only
/*
 * A model of the ring: the module's own code, with contexts that nest simulated.
 * Wherever the code loads or stores what another context may see, that context,
 * or the reader, may come in between:
 *
 *	exhaustive	at every combination of one or two such places, from every
 *			state of the ring that matters, with every offset
 *	random		at random, millions of times
 *	hostile		at random, with a reader that writes its position at random
 *	overwrite	a ring that overwrites, frozen now and then and looked at: at
 *			every one or two such places, then at random
 *	threads		at random, with a reader in a thread of its own; for
 *			ThreadSanitizer
 *
 * Ends with status 0 if all went well, 1 with the reason.
 */
#include "shim.h"

#include "ring.c"
#include "ring_pages.c"
#include "submit.c"

#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model.h"

struct reader reader;

static struct ktb_ring *ring;
static struct ktb_event_cpu event_cpu;
static struct ktb_event event = {
	.cpu = &event_cpu, .id = 7, .type = 5, .period = 1, .excluded_tgid = -1,
};
static unsigned int level;		/* what runs */
static unsigned int begun[LEVELS];
static unsigned int done[LEVELS];
static unsigned int sizes[] = { 36, 37, 44, 60, 68, 123 };
static u64 clock_now;

/* What may come in between: none, a nested context, the reader, a liar. */
static unsigned int (*choose)(unsigned int choices);
static bool reads_along;
static bool hostile;
static bool overwrites;
static bool drops;			/* some hits, at the lowest level */
static bool bursts;			/* from NMI, of more than the ring holds */
static bool asleep;			/* the reader */
static bool reading;			/* it has its turn */
static bool at_rest;			/* nothing comes in between */
static bool lingers;
static u64 last_head;
static const char *trouble;

static u64 random_state;

static unsigned int random_number(unsigned int below)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % below;
}

static void fail(const char *why)
{
	if (!trouble)
		trouble = why;
}

static void expect(bool condition, const char *why)
{
	if (!condition)
		fail(why);
}

/* The kernel's side of the shims. */

unsigned int model_level(void)
{
	return level;
}

unsigned int model_preempt_count(void)
{
	static const unsigned int counts[LEVELS] = { 1, 0x101, 0x10001, 0x100001 };

	return counts[level];
}

u64 model_clock(void)
{
	model_yield();
	return ++clock_now;
}

/* One mapping for each size, zeroed each time: a new one would cost most of a run. */
void *model_map(unsigned long nr_pages)
{
	static char *maps[16];
	size_t data = (nr_pages - 1) / 2 * PAGE_SIZE;
	char *at = maps[nr_pages];
	int fd;

	if (at)
		return memset(at, 0, PAGE_SIZE + data);
	fd = memfd_create("ring", 0);
	if (fd < 0 || ftruncate(fd, PAGE_SIZE + data))
		return NULL;
	at = mmap(NULL, nr_pages * PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED ||
	    mmap(at + PAGE_SIZE + data, data, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		 PAGE_SIZE) == MAP_FAILED)
		return NULL;
	close(fd);
	maps[nr_pages] = at;
	return at;
}

static void wake(struct ktb_ring *r)
{
	(void)r;
	asleep = false;
}

static void linger(struct ktb_ring *r)
{
	ktb_ring_ripen(r);
}

static void lost(struct ktb_ring *r)
{
	(void)r;
}

/* No callchain is asked for. */
const struct ktb_callchain *ktb_callchain_begin(unsigned int max_stack,
						const struct ktb_place *place)
{
	(void)max_stack;
	(void)place;
	return NULL;
}

void ktb_callchain_end(const struct ktb_callchain *chain)
{
	(void)chain;
}

static const struct ktb_ring_ops ops = { .wake = wake, .linger = linger, .lost = lost };

/* A hit, as a probe of module/native makes it. */
static void fire(unsigned int size)
{
	struct payload copy = { .level = level, .seq = begun[level]++ };
	struct ktb_hit hit;
	char *raw;

	for (int i = 0; i < LEVELS; i++) {
		copy.begun[i] = begun[i];
		copy.done[i] = done[i];
	}
	if (!ktb_event_begin(&event, ktb_event_mode(&event), size, &hit)) {
		hit = (struct ktb_hit){ 0 };
		if (ktb_event_admit(&event, 1))
			hit = ktb_event_begin_slow(&event, size, 0, NULL);
	}
	if (hit.sample) {
		raw = hit.sample->raw;
		memcpy(&copy.entry, raw, sizeof(copy.entry));
		memcpy(raw, &copy, sizeof(copy) / 2);
		model_yield();
		memcpy(raw + sizeof(copy) / 2, (char *)&copy + sizeof(copy) / 2,
		       sizeof(copy) - sizeof(copy) / 2);
		for (unsigned int at = sizeof(copy); at < size; at++)
			raw[at] = payload_byte(&copy, at);
		model_yield();
		expect(!memcmp(raw, &copy, sizeof(copy)) && payload_ok(raw, hit.sample->raw_size),
		       "a record was overwritten while it was written");
		ktb_event_end(hit);
	}
	done[level]++;
}

/* One that a program sees in the ring and drops: as if it had not been. */
static void drop(unsigned int size)
{
	struct ktb_hit hit;

	if (!ktb_record_begin_usual(&event, size, model_clock(), &hit)) {
		ktb_ring_look(ring);
		return;
	}
	memset(hit.entry, 0xaa, size);
	model_yield();
	ktb_ring_cancel_first(hit.ring, KTB_CONTEXT_TASK, hit.sample->header.size);
}

static void run_irq_work(void)
{
	if (ring->work.pending) {
		ring->work.pending = false;
		ring->work.fn(&ring->work);
	}
}

/* A reader that is awake reads; with nothing to read, it may sleep. */
static void reader_turn(void)
{
	long head;

	if (overwrites) {
		/* Once frozen it stands still: seldom, where much is to be written. */
		if (!bursts || !random_number(400))
			ktb_ring_freeze(ring, true);
		return;
	}
	if (hostile) {
		static const u64 near[] = { 0, 1, 4, 8, 4096, 4104, -8, -4096, 1ULL << 32 };
		u64 tail = near[random_number(ARRAY_SIZE(near))];

		if (random_number(2))
			tail += ring->page->data_head;
		else if (random_number(2))
			tail = random_state;
		__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELAXED);
		return;
	}
	if (asleep)
		return;
	reader_look(1 + random_number(3));
	if (ktb_ring_unread(ring) == 0) {
		/* It runs on another CPU: hits come while it goes to sleep. */
		head = ring->head.v;
		asleep = true;
		at_rest = false;
		if (ktb_ring_poll(ring))
			asleep = false;
		at_rest = true;
		/* For those the device looks once more, after KTB_RING_LINGER. */
		lingers |= head != ring->head.v;
	}
}

void model_yield(void)
{
	bool may_read = reads_along && !reading;
	unsigned int was = level, choices = LEVELS - 1 - level + may_read, choice;

	if (at_rest || !choose)
		return;
	expect(overwrites ? (s64)(last_head - ring->page->data_head) >= 0 :
	       (s64)(ring->page->data_head - last_head) >= 0, "the head goes back");
	last_head = ring->page->data_head;
	choice = choose(1 + choices);
	if (!choice)
		return;
	if (choice == choices && may_read) {
		reading = true;
		at_rest = true;
		reader_turn();
		at_rest = false;
		reading = false;
		return;
	}
	level += choice;
	/* A position that is a lie, or none, does harm only if much is written meanwhile. */
	for (unsigned int n = bursts && level == LEVELS - 1 ? random_number(60) : 1; n; n--)
		fire(sizes[random_number(6)]);
	level = was;
}

/* A ring with this many bytes ever written, and all of them read. */
static void begin(unsigned long size, u64 position)
{
	const struct ktb_ring_config config = {
		.size = size, .watermark = size / 2, .ops = &ops, .direct = true,
		.flags = overwrites ? KTB_SESSION_OVERWRITE : 0,
	};

	if (ring)
		ktb_ring_destroy(ring);
	at_rest = true;
	ring = ktb_ring_create(0, &config);
	ring->head.v = position;
	ring->published = position;
	ring->tail = position;
	ring->page->data_head = position;
	ring->page->data_tail = position;
	last_head = position;
	memset(&event_cpu, 0, sizeof(event_cpu));
	event_cpu.ring = ring;
	clock_now = 0; /* each run is to be as the one before, up to the new choice */
	memset(begun, 0, sizeof(begun));
	memset(done, 0, sizeof(done));
	asleep = false;
	lingers = false;
	reader_init(ring->page, ring->data, size);
	at_rest = false;
}

/* At rest everything is published, accounted for, and read. */
static void check(u64 position)
{
	u64 hits = 0, lost_hits = event_cpu.lost_full.v + event_cpu.lost_recursion.v, missing;

	at_rest = true;
	run_irq_work();
	run_irq_work();
	if (lingers)
		ktb_ring_ripen(ring);
	expect(!ring->busy, "a context is still writing");
	expect(hostile || ring->page->data_head == (u64)ring->head.v,
	       "not everything is published");
	expect(!asleep || !ktb_ring_unread(ring), "the reader sleeps on");
	if (!hostile)
		reader_look(~0U);
	missing = reader_missing(begun);
	for (int i = 0; i < LEVELS; i++)
		hits += begun[i];
	expect((u64)event_cpu.hits.v == hits, "hits are not counted");
	expect(event_cpu.hits.v == event_cpu.written.v + (long)lost_hits,
	       "hits are not written plus lost");
	expect((u64)ring->lost.v == lost_hits, "the ring's losses are not the ledger's");
	expect(!event_cpu.lost_recursion.v, "nested contexts taken for recursion");
	if (!hostile) {
		expect(ring->page->lost == lost_hits, "the page's losses are not the ledger's");
		expect(!reader.broken, "a record is not whole");
		expect(!reader.late && !reader.early, "records out of order");
		expect(reader.samples == (u64)event_cpu.written.v, "written is not read");
		expect(reader.lost == (u64)ring->stated.v && reader.lost <= lost_hits,
		       "losses stated are not those had");
		expect(missing == lost_hits, "records are missing that are not counted as lost");
		expect(reader.bytes == ring->page->data_head - position, "bytes got lost");
	}
	at_rest = false;
}

/*
 * Exhaustive: the choices of a run are kept, the next run takes the last one that
 * has an alternative differently. So all sequences are had, with at most so many
 * that are not "none".
 */
#define DEPTH	4096

static struct { unsigned char taken, choices; } path[DEPTH];
static unsigned int path_len, path_at, extras, max_extras;
static u64 runs;

static unsigned int choose_next(unsigned int choices)
{
	unsigned int taken = 0;

	if (path_at < path_len) {
		taken = path[path_at].taken;
	} else if (path_len < DEPTH) {
		path[path_at].taken = 0;
		path[path_at].choices = extras < max_extras ? choices : 1;
		path_len++;
	} else {
		return 0;
	}
	path_at++;
	extras += taken != 0;
	return taken;
}

static bool next_path(void)
{
	while (path_len && path[path_len - 1].taken + 1 >= path[path_len - 1].choices)
		path_len--;
	if (!path_len)
		return false;
	path[path_len - 1].taken++;
	return true;
}

/* From here a run begins: room for so many bytes, a loss to be stated, or not. */
static void prepare(u64 position, unsigned int room, bool loss, bool drained)
{
	const unsigned int size = 4096;
	unsigned int left;

	choose = NULL;
	begin(size, position);
	/* Long ones, this is done again and again, and one that leaves exactly that. */
	for (left = size - room; left > 1200; left -= 1000)
		fire(1000 - sizeof(struct ktb_sample));
	if (left)
		fire(left - sizeof(struct ktb_sample));
	while (loss && ring->lost.v == ring->stated.v)
		fire(1900);
	run_irq_work();
	/* The reader is further than the ring knows: its cached tail is old. */
	if (drained)
		reader_look(room ? ~0U : 1);
	choose = choose_next;
	path_at = 0;
	extras = 0;
	random_state = 1;
}

static bool exhaust(u64 position, unsigned int room, bool loss, bool drained)
{
	path_len = 0;
	do {
		prepare(position, room, loss, drained);
		if (drops)
			drop(52);
		else
			fire(60);
		choose = NULL;
		check(position);
		/* What came out of it for the next one. */
		fire(44);
		check(position);
		expect(!reader.unstated, "a loss is not stated before what comes next");
		runs++;
	} while (!trouble && next_path());
	if (trouble)
		printf("# %s: position %llu, room %u%s%s\n", trouble,
		       (unsigned long long)position, room, loss ? ", after a loss" : "",
		       drained ? ", reader ahead" : "");
	return !trouble;
}

static int exhaustive(unsigned int count)
{
	reads_along = true;
	/* One in between, at every offset of the ring. */
	max_extras = 1;
	for (int i = 0; i < 2; i++) {
		drops = !i;
		for (u64 at = 0; at < 4096; at += 8 * count)
			if (!exhaust(at, 4096, false, false) ||
			    !exhaust(at - 2048, 200, false, true))
				return 1;
	}
	/* Every bit of room that may be left at the end. */
	for (unsigned int room = 0; room < 300; room += 8)
		if (!exhaust(4000, room, false, false) || !exhaust(4000, room, false, true))
			return 1;
	/* Two, from every state. */
	max_extras = 2;
	for (unsigned int room = 0; room <= 200; room += 40)
		if (!exhaust(4000, room, false, false) || !exhaust(4000, room, false, true))
			return 1;
	if (!exhaust(0, 0, true, false) || !exhaust(0, 0, true, true) ||
	    !exhaust(4000, 4096, true, true) || !exhaust(4000, 80, true, false))
		return 1;
	drops = true;
	if (!exhaust(4000, 4096, false, false) || !exhaust(4000, 200, false, true))
		return 1;
	printf("# %llu runs\n", (unsigned long long)runs);
	return 0;
}

/* Random */

static unsigned int choose_at_random(unsigned int choices)
{
	unsigned int n = random_number(24);

	return n < choices ? n : 0;
}

static int at_random(unsigned int count, bool lies)
{
	u64 position = 0;

	hostile = lies;
	bursts = lies;
	reads_along = true;
	for (unsigned int round = 0; round < count && !trouble; round++) {
		random_state = round;
		position = random_number(3) ? random_number(512) * 8 : -8ULL * random_number(1024);
		choose = NULL;
		begin(4096U << random_number(2), position);
		choose = choose_at_random;
		for (int i = 0; i < 200 && !trouble; i++) {
			if (!random_number(4))
				drop(sizes[random_number(6)]);
			fire(sizes[random_number(6)]);
		}
		choose = NULL;
		check(position);
	}
	if (trouble)
		printf("# %s\n", trouble);
	return !!trouble;
}

/* Overwriting */

/* What hits meanwhile changes nothing in a frozen ring, and is lost. */
static void check_stands_still(void)
{
	static char before[8 * 4096];
	long lost_hits = event_cpu.lost_full.v;
	long head = ring->head.v;

	memcpy(before, ring->data, ring->size);
	fire(60);
	expect(ring->head.v == head && (long)ring->page->data_head == head &&
	       !memcmp(before, ring->data, ring->size), "a frozen ring was written to");
	expect(event_cpu.lost_full.v == lost_hits + 1, "a hit of a frozen ring is not lost");
}

/* A ring at rest: what it has is whole, the newest, and what is not there is known. */
static void check_snapshot(void)
{
	const u64 written = 0 - ring->page->data_head;
	u64 hits = 0, lost_hits = event_cpu.lost_full.v + event_cpu.lost_recursion.v, missing;

	at_rest = true;
	ktb_ring_freeze(ring, true);
	expect(!ring->busy, "a context is still writing");
	expect(ring->page->data_head == (u64)ring->head.v, "not everything is published");
	reader_snapshot();
	missing = reader_missing(begun);
	for (int i = 0; i < LEVELS; i++)
		hits += begun[i];
	expect((u64)event_cpu.hits.v == hits, "hits are not counted");
	expect(event_cpu.hits.v == event_cpu.written.v + (long)lost_hits,
	       "hits are not written plus lost");
	expect(ring->page->lost == lost_hits, "the page's losses are not the ledger's");
	expect(!event_cpu.lost_recursion.v, "nested contexts taken for recursion");
	expect(!reader.broken, "a record is not whole");
	expect(!reader.late && !reader.early, "records out of order");
	expect(!reader.unstated, "a loss is not stated before what comes next");
	expect(missing <= reader.lost + ring->lost.v - ring->stated.v, "newer records are missing");
	if (written <= ring->size) {
		expect(reader.samples == (u64)event_cpu.written.v, "written is not there");
		expect(reader.bytes == written, "bytes got lost");
		expect(reader.lost == (u64)ring->stated.v && reader.lost <= lost_hits,
		       "losses stated are not those had");
	} else {
		expect(ring->size - reader.bytes < 2048, "the oldest are gone too early");
	}
	check_stands_still();
	ktb_ring_freeze(ring, false);
	at_rest = false;
}

/* One hit, with one or two things in between, in a ring that was written to so much. */
static bool exhaust_overwrite(unsigned int before, bool loss)
{
	path_len = 0;
	do {
		choose = NULL;
		begin(4096, 0);
		for (unsigned int left = before; left; left -= left > 1200 ? 1000 : left)
			fire((left > 1200 ? 1000 : left) - sizeof(struct ktb_sample));
		if (loss)
			check_snapshot();
		choose = choose_next;
		path_at = 0;
		extras = 0;
		random_state = 1;
		fire(60);
		choose = NULL;
		check_snapshot();
		fire(44);
		check_snapshot();
		runs++;
	} while (!trouble && next_path());
	if (trouble)
		printf("# %s: after %u bytes%s\n", trouble, before, loss ? ", and a loss" : "");
	return !trouble;
}

static int overwrite(unsigned int count)
{
	overwrites = true;
	reads_along = true;
	max_extras = 1;
	for (unsigned int before = 100; before < 2 * 4096; before += 8)
		if (before % 1000 >= 100 && !exhaust_overwrite(ALIGN(before, 8), before & 8))
			return 1;
	max_extras = 2;
	if (!exhaust_overwrite(0, false) || !exhaust_overwrite(4000, false) ||
	    !exhaust_overwrite(4000, true) || !exhaust_overwrite(9000, true))
		return 1;
	printf("# %llu runs\n", (unsigned long long)runs);
	bursts = true;
	for (unsigned int round = 0; round < count && !trouble; round++) {
		random_state = round;
		choose = NULL;
		begin(4096U << random_number(2), 0);
		for (int i = 0; i < 100 && !trouble; i++) {
			choose = choose_at_random;
			fire(sizes[random_number(6)]);
			choose = NULL;
			if (ring->frozen)
				check_snapshot();
		}
		check_snapshot();
	}
	if (trouble)
		printf("# %s\n", trouble);
	return !!trouble;
}

/* Threads */

static bool stop;

static void *read_on(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED) && !reader.broken)
		reader_look(5);
	return NULL;
}

static int threads(unsigned int count)
{
	pthread_t thread;

	begin(4096, 0);
	choose = choose_at_random;
	pthread_create(&thread, NULL, read_on, NULL);
	for (unsigned int i = 0; i < count && !trouble; i++)
		fire(sizes[random_number(6)]);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	choose = NULL;
	check(0);
	printf("# %lu hits, %lu lost\n", event_cpu.hits.v, event_cpu.lost_full.v);
	if (trouble)
		printf("# %s\n", trouble);
	return !!trouble;
}

int main(int argc, char **argv)
{
	unsigned int count = argc > 2 ? atoi(argv[2]) : 1;

	if (argc > 1 && !strcmp(argv[1], "exhaustive"))
		return exhaustive(count);
	if (argc > 1 && !strcmp(argv[1], "random"))
		return at_random(count, false);
	if (argc > 1 && !strcmp(argv[1], "hostile"))
		return at_random(count, true);
	if (argc > 1 && !strcmp(argv[1], "overwrite"))
		return overwrite(count);
	if (argc > 1 && !strcmp(argv[1], "threads"))
		return threads(count);
	fprintf(stderr, "usage: model exhaustive|random|hostile|overwrite|threads [COUNT]\n");
	return 2;
}
