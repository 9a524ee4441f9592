/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel event headers that have a file here: one line, one file each. */
KTB_NATIVE(irq)
KTB_NATIVE(module)
KTB_NATIVE(net)
KTB_NATIVE(power)
KTB_NATIVE(sched)
KTB_NATIVE(signal)
KTB_NATIVE(syscalls)
KTB_NATIVE(task)
KTB_NATIVE(timer)
KTB_NATIVE(workqueue)
