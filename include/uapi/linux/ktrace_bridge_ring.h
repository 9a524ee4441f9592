/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * ktrace_bridge: the ring buffer as a reader sees it, and the ioctls of
 * /dev/ktrace_bridge.
 *
 * A session has one ring per CPU. A reader opens /dev/ktrace_bridge, binds the
 * descriptor to a session with KTB_IOC_BIND (to the rings of all CPUs or to
 * one), maps the rings it wants and waits with poll(2).
 *
 *   mmap offset              what                        how it may be mapped
 *   ----------------------   -------------------------   -----------------------
 *   cpu * KTB_RING_STRIDE    struct ktb_ring_page, one   MAP_SHARED, read, write
 *                            page
 *   ... + page size          data_size bytes of records  MAP_SHARED, read only
 *   ... + page size          the data twice in a row,    MAP_SHARED, read only
 *                            2 * data_size bytes
 *   cpu * KTB_RING_STRIDE    control page and data in    MAP_SHARED, read only
 *                            one, page size + data_size
 *                            or page size + 2 * data_size
 *
 * The data mapped twice in a row lets a record, or a write(2) of everything
 * unread, be used in place although it wraps around the ring's end.
 *
 * Reading, on any CPU, by one reader at a time:
 *
 *   head = load_acquire(&page->data_head);              (C)
 *   while (tail != head) {
 *           rec = data + (tail & (page->data_size - 1));
 *           use rec; tail += rec->size;
 *   }
 *   store_release(&page->data_tail, tail);              (D)
 *
 *   kernel, on the ring's CPU              reader
 *   ------------------------------------   -----------------------------------
 *   load data_tail                         load_acquire data_head        (C)
 *     control dependency            (A)      load records
 *   store records                          store_release data_tail       (D)
 *   store_release data_head         (B)
 *
 * (B) pairs with (C): a reader that sees a head sees every record before it.
 * (A) pairs with (D): the kernel overwrites nothing that is still being read.
 *
 * head and tail count bytes from the ring's beginning and never wrap to zero;
 * both are always at a record's boundary. A record is a struct
 * perf_event_header and what perf_event_open(2) says of its type, for the
 * sample_type in the control page, sample_id_all set:
 *
 *   PERF_RECORD_SAMPLE   a hit
 *   PERF_RECORD_LOST     hits were lost here: id of the event that wrote next,
 *                        number of hits lost, sample_id. The number is 0 if a
 *                        context that interrupted the writer stated it, behind
 *                        this record
 *
 * A session with KTB_SESSION_OVERWRITE keeps the newest records instead of the
 * oldest. Its positions count down from 0 (as perf's write_backward), so that
 * data + (data_head & (data_size - 1)) is the newest record and each older one
 * stands behind it; data_tail is not used. It is read between KTB_IOC_FREEZE and
 * KTB_IOC_THAW: of min(0 - data_head, data_size) bytes, all records that end
 * within them are whole, and what is left over is the rest of an overwritten
 * one. The ledger's written, less those, is the number of overwritten records.
 *
 * Each position is loaded and stored as one access of 64 bits, by a 32-bit
 * program too: gcc's and clang's __atomic_load_n() and __atomic_store_n() of an
 * aligned 64-bit word are, on i586 and newer. Two accesses of 32 bits would be wrong
 * by 4 GiB whenever a carry falls between them.
 *
 * What a reader writes into the control page is never trusted: it can spoil
 * its own view, and nothing else.
 *
 * Life of a mapping:
 *
 *   close(2) of the descriptor     the mapping stays and keeps the binding
 *   session removed                the mapping stays, records in it too; poll(2)
 *                                  says EPOLLHUP
 *   fork(2)                        the child has it too; one reader at a time
 *                                  stays the readers' own business
 *   exit, in any order             what is left over keeps its pages
 *   munmap(2) of a part            allowed
 *   mremap(2) to grow              EFAULT
 *   madvise(2), MADV_DONTNEED      what it drops is gone: SIGBUS; map it again
 *   mprotect(2) to write or exec   EACCES
 *   module unload                  EWOULDBLOCK while a descriptor or mapping is
 *                                  there
 *
 * Errors:
 *
 *   open    EACCES    the device's mode, 0600, does not allow it
 *           EPERM     neither CAP_PERFMON nor CAP_SYS_ADMIN, or locked down
 *           EBUSY     the module is still being loaded
 *   bind    EALREADY  the descriptor is bound
 *           ENOENT    no such session
 *           ENXIO     no such CPU, or it has no ring
 *           EINVAL    an unknown flag, or reserved is not zero
 *           EBUSY     another descriptor reads one of these rings, or one of
 *                     another process excludes that
 *           ENODATA   the session only counts and has no rings
 *   mmap    EINVAL    not MAP_SHARED, an offset or a length not listed above
 *           EACCES    a writable or executable mapping of what may not be
 *           ENXIO     a CPU without ring, or not the bound one
 *           ENOTCONN  not bound
 *   read    EOPNOTSUPP an overwrite session: map it
 *           EMSGSIZE  the next record is longer than the buffer
 *           EAGAIN    nothing to read, O_NONBLOCK
 *           EIO       data_tail is not at a record's boundary: only the mapping
 *                     process can have moved it there
 *           ENOTCONN  not bound
 *   ioctl   ENOTTY    no such ioctl
 *           ENOTCONN  not bound
 *           ENOENT    enable, disable: the session was removed
 *           EOPNOTSUPP freeze, thaw: not an overwrite session
 *
 * Bind before the descriptor is handed to poll(2) or EPOLL_CTL_ADD: unbound, it
 * reports EPOLLERR and waits for nothing.
 */
#ifndef _UAPI_LINUX_KTRACE_BRIDGE_RING_H
#define _UAPI_LINUX_KTRACE_BRIDGE_RING_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define KTB_RING_MAGIC		0x5242544bU	/* "KTBR" */
#define KTB_RING_VERSION	1

/* Distance, in bytes of mmap offset, from one CPU's ring to the next. */
#define KTB_RING_STRIDE		(1ULL << 32)

/**
 * struct ktb_ring_page - control page of a ring
 * @magic: KTB_RING_MAGIC
 * @version: KTB_RING_VERSION; raised when a field changes its meaning
 * @size: bytes of this structure that the module fills; later versions add
 *	fields at the end
 * @session: number of the session
 * @cpu: CPU that writes this ring
 * @data_offset: bytes from the control page to the data, one page
 * @data_size: bytes of data, a power of two
 * @sample_type: PERF_SAMPLE_* mask of the records
 * @clockid: clock of the sample time, CLOCK_MONOTONIC
 * @flags: KTB_SESSION_* flags of the session
 * @data_head: bytes ever published; written by the module
 * @lost: hits that did not reach this ring; written by the module
 * @data_tail: bytes ever consumed; written by the reader
 */
struct ktb_ring_page {
	__u32 magic;
	__u16 version;
	__u16 size;
	__u32 session;
	__u32 cpu;
	__u64 data_offset;
	__u64 data_size;
	__u64 sample_type;
	__u32 clockid;
	__u32 flags;
	/* private: */
	__u64 __reserved0[10];
	/* public: */

	/* The producer's cache lines. */
	__aligned_u64 data_head;
	__aligned_u64 lost;
	/* private: */
	__u64 __reserved1[14];
	/* public: */

	/* The consumer's cache lines. */
	__aligned_u64 data_tail;
	/* private: */
	__u64 __reserved2[15];
};

/**
 * struct ktb_bind - argument of KTB_IOC_BIND
 * @session: number of the session
 * @cpu: CPU whose ring is to be read, -1 for all CPUs
 * @flags: KTB_BIND_*
 * @reserved: zero
 */
struct ktb_bind {
	__u32 session;
	__s32 cpu;
	__u32 flags;
	__u32 reserved;
};

/*
 * As long as the descriptor is open, hits of the process that bound it are
 * filtered: a reader does not trace its own work.
 */
#define KTB_BIND_EXCLUDE_SELF	(1U << 0)

/* Bind the descriptor to a session's rings. */
#define KTB_IOC_BIND		_IOW('k', 0xb0, struct ktb_bind)
/* Enable or disable the bound session, as session-set does. */
#define KTB_IOC_ENABLE		_IO('k', 0xb1)
#define KTB_IOC_DISABLE		_IO('k', 0xb2)
/* Wake sleeping readers of rings that hold anything, whatever the watermark. */
#define KTB_IOC_FLUSH		_IO('k', 0xb3)
/*
 * Begin and end a snapshot of the bound rings of an overwrite session. After
 * KTB_IOC_FREEZE they stand still; what hits meanwhile is lost, and counted.
 * They go on with KTB_IOC_THAW, and when the descriptor is gone.
 */
#define KTB_IOC_FREEZE		_IO('k', 0xb4)
#define KTB_IOC_THAW		_IO('k', 0xb5)

#endif /* _UAPI_LINUX_KTRACE_BRIDGE_RING_H */
