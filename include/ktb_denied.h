/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions of the kernel that are not traced, whoever asks: the module refuses
 * them by name, libktb leaves them out of patterns.
 */
#ifndef _KTB_DENIED_H
#define _KTB_DENIED_H

/* A hook on their return would wait for ever. */
#define KTB_NEVER_RETURNS(X)		\
	X(__do_sys_exit_group)		\
	X(__ia32_sys_exit)		\
	X(__ia32_sys_exit_group)	\
	X(__x64_sys_exit)		\
	X(__x64_sys_exit_group)		\
	X(do_exit)			\
	X(do_group_exit)		\
	X(kthread_complete_and_exit)	\
	X(kthread_exit)			\
	X(make_task_dead)

/* The module calls them while it records a hit: each record would be one hit more. */
#define KTB_RECORDS_HITS(X)		\
	X(__unwind_start)		\
	X(copy_from_user_nofault)	\
	X(unwind_get_return_address)	\
	X(unwind_next_frame)

#endif /* _KTB_DENIED_H */
