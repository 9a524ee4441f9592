// SPDX-License-Identifier: GPL-2.0-only
/* CPUs that go and come, the module that goes and comes, and one of others. */
#include "torture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cpu_set_online(int cpu, bool online)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	return ktb_write_file(path, online ? "1" : "0");
}

static void hotplug_step(struct worker *w)
{
	int cpu = 1 + draw(&w->rng, CPUS - 1);
	bool online = draw(&w->rng, 2);
	enum action action = online ? A_CPU_ON : A_CPU_OFF;

	begin(w, action);
	/* EBUSY: somebody keeps hotplug off for a moment. */
	end(w, action, cpu_set_online(cpu, online), EBUSY);
}

static void hotplug_rest(struct worker *w)
{
	for (int cpu = 1; cpu < CPUS; cpu++)
		if (cpu_set_online(cpu, true))
			complain(w, "CPU %d does not come back", cpu);
}

const struct kind hotplug_kind = {
	.name = "hotplug", .step = hotplug_step, .rest = hotplug_rest,
	.pause = 4000, .modest = true,
};

/* Try until nobody has the device open; then load it again at once, or later. */
static void unload_and_reload(struct worker *w)
{
	unsigned int ms = draw(&w->rng, 60);
	__u64 until = ktb_now() + 5000000000ULL;
	int error;

	begin(w, A_UNLOAD);
	__atomic_store_n(&shared->keep_off, true, __ATOMIC_RELAXED);
	do {
		error = module_unload(MODULE);
		end(w, A_UNLOAD, error, EAGAIN);
		usleep(draw(&w->rng, 2000));
	} while (error == -EAGAIN && ktb_now() < until && !stopping());
	if (!error) {
		sleep_ms(ms);
		begin(w, A_RELOAD);
		error = module_load(MODULE_FILE);
		end(w, A_RELOAD, error);
		if (!error)
			__atomic_fetch_add(&shared->generation, 1, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&shared->keep_off, false, __ATOMIC_RELAXED);
}

static void unload_step(struct worker *w)
{
	int error;

	if (__atomic_load_n(&shared->may_unload, __ATOMIC_ACQUIRE)) {
		unload_and_reload(w);
		return;
	}
	begin(w, A_UNLOAD_REFUSED);
	error = module_unload(MODULE);
	if (error != -EAGAIN)
		complain(w, "unload of a module in use: %s", strerror(-error));
	end(w, A_UNLOAD_REFUSED, 0);
}

const struct kind unload_kind = {
	.name = "unload", .step = unload_step, .pause = 1500, .modest = true,
};

/* A session with the module's event; 0 if there is none. */
static __u32 foreign_attach(struct worker *w, struct ktb_nl *nl, struct ktb_event *e)
{
	struct ktb_session s;
	char name[16];
	int error;

	begin(w, A_FOREIGN_ATTACH);
	snprintf(name, sizeof(name), "t_m%d", w->nr);
	error = session_new(nl, name, 0, 16384, 0, &s);
	if (!error) {
		error = attach_plain(nl, s.id, TEST_EVENT, e);
		if (error)
			ktb_session_del(nl, s.id);
	}
	end(w, A_FOREIGN_ATTACH, error);
	return error ? 0 : s.id;
}

/* It holds the module. */
static void foreign_detach(struct worker *w, struct ktb_nl *nl, __u32 session,
			   struct ktb_event *e)
{
	bool at_once = draw(&w->rng, 2);
	int error = 0;

	begin(w, A_FOREIGN_HELD);
	if (!module_moved(w) && module_unload(TEST_MODULE) != -EAGAIN)
		complain(w, "a module goes whose event is attached");
	end(w, A_FOREIGN_HELD, 0);
	if (!at_once)
		error = ktb_event_detach(nl, session, e->id, e);
	if (!at_once && !error)
		check_ledger(w, e);
	end(w, A_EVENT_DETACH, error);
	end(w, A_SESSION_DEL, ktb_session_del(nl, session));
}

/* Its other users: ftrace, and hits. */
static void foreign_use(struct worker *w)
{
	static const char enable[] = KTB_TRACEFS "/events/ktb_test/enable";

	if (draw(&w->rng, 2))
		ktb_write_file(enable, "1");
	begin(w, A_FOREIGN_HIT);
	end(w, A_FOREIGN_HIT, ktb_write_file(TEST_FIRE, "100"));
	if (draw(&w->rng, 2))
		ktb_write_file(enable, "0");
}

/* Who looked at its event just now may hold it for a moment. */
static int foreign_unload(void)
{
	/* Not long, but a CPU that comes up takes a slow kernel seconds. */
	__u64 until = ktb_now() + 30000000000ULL;
	int error;

	do {
		error = module_unload(TEST_MODULE);
	} while (error == -EAGAIN && ktb_now() < until);
	return error;
}

static void foreign_step(struct worker *w)
{
	struct ktb_nl *nl = control(w);
	struct ktb_event e;
	__u32 session;

	begin(w, A_FOREIGN_LOAD);
	end(w, A_FOREIGN_LOAD, module_load(TEST_FILE));
	session = nl ? foreign_attach(w, nl, &e) : 0;
	foreign_use(w);
	if (session)
		foreign_detach(w, nl, session, &e);
	begin(w, A_FOREIGN_UNLOAD);
	end(w, A_FOREIGN_UNLOAD, foreign_unload());
}

const struct kind foreign_kind = {
	.name = "foreign", .step = foreign_step, .rest = control_close,
	.pause = 800, .modest = true,
};
