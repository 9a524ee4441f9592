// SPDX-License-Identifier: GPL-2.0-only
/*
 * ktrace_bridge: the kernel's tracepoint-to-perf bridge, outside the kernel.
 * Loading and unloading.
 *
 * Unloading, step by step, the mirror of loading:
 *
 * 1. The kernel refuses while a descriptor of the device, a mapping, a perf event
 *    of our PMU or a file in debugfs is open, or a netlink dump is unfinished: each
 *    holds the module.
 * 2. The files in debugfs go.
 * 3. The control channel closes; a request under way finishes first. No
 *    session or event is made any more.
 * 4. Every session ends: probes come off their tracepoints, the last one to run
 *    is waited for, then events, rings and sessions are freed. Early, as they hold
 *    the modules whose tracepoints they have, and nobody can end them any more.
 * 5. The PMU goes. The last of its events took its probe off its tracepoint.
 * 6. The device goes.
 * 7. CPU hotplug forgets us, and so does the timekeeper.
 */

#include <linux/module.h>

#include "chardev.h"
#include "clock.h"
#include "debugfs.h"
#include "netlink.h"
#include "perfcore.h"
#include "pmu.h"
#include "session.h"
#include "session_rings.h"

static int __init ktb_init(void)
{
	int err;

	err = ktb_clock_init();
	if (err)
		return err;
	err = ktb_session_rings_init();
	if (err)
		goto err_exit_clock;
	err = ktb_perfcore_init();
	if (err)
		goto err_exit_rings;
	err = ktb_chardev_init(); /* lets nobody in before loading is over */
	if (err)
		goto err_exit_perfcore;
	err = ktb_pmu_init(); /* likewise */
	if (err)
		goto err_exit_chardev;
	err = ktb_netlink_init(); /* from here on users hold the module: the last that may fail */
	if (err)
		goto err_exit_pmu;
	ktb_debugfs_init();
	return 0;

err_exit_pmu:
	ktb_pmu_exit();
err_exit_chardev:
	ktb_chardev_exit();
err_exit_perfcore:
	ktb_perfcore_exit();
err_exit_rings:
	ktb_session_rings_exit();
err_exit_clock:
	ktb_clock_exit();
	return err;
}

static void __exit ktb_exit(void)
{
	ktb_debugfs_exit();
	ktb_netlink_exit();
	ktb_sessions_exit();
	ktb_pmu_exit();
	ktb_chardev_exit();
	ktb_perfcore_exit();
	ktb_session_rings_exit();
	ktb_clock_exit();
}

module_init(ktb_init);
module_exit(ktb_exit);

MODULE_DESCRIPTION("The kernel's tracepoint-to-perf bridge as a module");
MODULE_AUTHOR("The ktrace_bridge developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
