// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/ktrace_bridge: the rings for readers. What it promises stands in
 * include/uapi/linux/ktrace_bridge_ring.h. Process context.
 *
 * An open descriptor or a mapping (which holds its file) pins the module; a
 * bound descriptor holds its session, and with it the rings.
 */

#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "chardev.h"
#include "session.h"
#include "session_rings.h"

static struct ktb_session *ktb_reader_session(struct file *file)
{
	struct ktb_reader *reader = file->private_data;

	return smp_load_acquire(&reader->session); /* pairs with ktb_reader_bind() */
}

static int ktb_chardev_open(struct inode *inode, struct file *file)
{
	struct ktb_reader *reader;
	int err;

	/* a step of loading may still fail, and would not wait for us */
	if (THIS_MODULE->state != MODULE_STATE_LIVE)
		return -EBUSY;
	if (!perfmon_capable())
		return -EPERM;
	err = security_locked_down(LOCKDOWN_PERF);
	if (err)
		return err;

	reader = kzalloc(sizeof(*reader), GFP_KERNEL_ACCOUNT);
	if (!reader)
		return -ENOMEM;
	file->private_data = reader;
	return nonseekable_open(inode, file);
}

static int ktb_chardev_release(struct inode *inode, struct file *file)
{
	struct ktb_reader *reader = file->private_data;

	ktb_reader_unbind(reader);
	kfree(reader);
	return 0;
}

static long ktb_chardev_bind(struct ktb_reader *reader, void __user *arg)
{
	struct ktb_bind bind;

	if (copy_from_user(&bind, arg, sizeof(bind)))
		return -EFAULT;
	return ktb_reader_bind(reader, &bind);
}

static long ktb_chardev_enable(struct ktb_session *session, bool enable)
{
	int err = 0;

	mutex_lock(&ktb_lock);
	if (session->dead)
		err = -ENOENT;
	else
		ktb_session_enable(session, enable);
	mutex_unlock(&ktb_lock);
	return err;
}

static long ktb_chardev_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct ktb_session *session = ktb_reader_session(file);

	switch (cmd) {
	case KTB_IOC_BIND:
		return ktb_chardev_bind(file->private_data, (void __user *)arg);
	case KTB_IOC_ENABLE:
	case KTB_IOC_DISABLE:
		if (!session)
			return -ENOTCONN;
		return ktb_chardev_enable(session, cmd == KTB_IOC_ENABLE);
	case KTB_IOC_FLUSH:
		if (!session)
			return -ENOTCONN;
		ktb_session_flush(session);
		return 0;
	case KTB_IOC_FREEZE:
	case KTB_IOC_THAW:
		if (!session)
			return -ENOTCONN;
		return ktb_reader_freeze(file->private_data, cmd == KTB_IOC_FREEZE);
	default:
		return -ENOTTY;
	}
}

static int ktb_chardev_mmap(struct file *file, struct vm_area_struct *vma)
{
	const unsigned long stride = KTB_RING_STRIDE >> PAGE_SHIFT;
	struct ktb_session *session = ktb_reader_session(file);
	struct ktb_reader *reader = file->private_data;
	unsigned long cpu = vma->vm_pgoff / stride;
	struct ktb_ring *ring;

	if (!session)
		return -ENOTCONN;
	if (cpu >= nr_cpu_ids || (reader->cpu != -1 && reader->cpu != cpu))
		return -ENXIO;
	ring = ktb_session_ring(session, cpu);
	if (!ring)
		return -ENXIO;
	return ktb_ring_mmap(ring, vma, vma->vm_pgoff % stride);
}

/* To ask before a look at the rings: there is nothing left then that it does not see. */
static bool ktb_session_dead(const struct ktb_session *session)
{
	return smp_load_acquire(&session->dead); /* pairs with ktb_session_destroy() */
}

/* Where a reader sleeps. */
static wait_queue_head_t *ktb_chardev_wait(struct ktb_session *session, int cpu)
{
	return cpu == -1 ? &session->wait : &ktb_session_ring(session, cpu)->wait;
}

/*
 * Whether a ring of the reader has something, arming a wake-up on each, and the
 * second look that the second table in ring.c asks for.
 */
static bool ktb_chardev_readable(struct ktb_session *session, int only)
{
	struct ktb_ring *ring;
	bool readable = false;
	int cpu;

	for_each_possible_cpu(cpu) {
		ring = ktb_session_ring(session, cpu);
		if (ring && (only == -1 || only == cpu) && ktb_ring_poll(ring))
			readable = true;
	}
	ktb_session_look_again(session);
	return readable;
}

/*
 * Who does not ask for records waits for the end of the session. A wake-up armed for
 * it would be armed again each time it looks, once per record while others read late.
 */
static __poll_t ktb_chardev_poll(struct file *file, poll_table *wait)
{
	const __poll_t readable = EPOLLIN | EPOLLRDNORM;
	struct ktb_session *session = ktb_reader_session(file);
	struct ktb_reader *reader = file->private_data;
	__poll_t mask = 0;
	bool dead;

	if (!session)
		return EPOLLERR;

	poll_wait(file, ktb_chardev_wait(session, reader->cpu), wait);
	dead = ktb_session_dead(session);
	if (poll_requested_events(wait) & readable &&
	    ktb_chardev_readable(session, reader->cpu))
		mask |= readable;
	if (dead)
		mask |= EPOLLHUP;
	return mask;
}

/*
 * One pass over the reader's rings: whole records, as many as fit, beginning
 * with another CPU each time, so that a busy one leaves room for the rest.
 */
static ssize_t ktb_chardev_read_once(struct ktb_session *session,
				     struct ktb_reader *reader,
				     char __user *buf, size_t len)
{
	unsigned int first = READ_ONCE(reader->first_cpu), i, cpu;
	struct ktb_ring *ring;
	ssize_t done = 0, n;

	WRITE_ONCE(reader->first_cpu, (first + 1) % nr_cpu_ids);
	for (i = 0; i < nr_cpu_ids; i++) {
		cpu = (first + i) % nr_cpu_ids;
		ring = ktb_session_ring(session, cpu);
		if (!ring || (reader->cpu != -1 && reader->cpu != cpu))
			continue;
		n = ktb_ring_read(ring, buf + done, len - done);
		if (n < 0)
			return done ?: n;
		done += n;
	}
	return done;
}

static ssize_t ktb_chardev_read(struct file *file, char __user *buf, size_t len,
				loff_t *pos)
{
	struct ktb_session *session = ktb_reader_session(file);
	struct ktb_reader *reader = file->private_data;
	ssize_t n;
	int err;

	if (!session)
		return -ENOTCONN;
	if (!len)
		return 0;

	for (;;) {
		bool dead = ktb_session_dead(session);

		n = ktb_chardev_read_once(session, reader, buf, len);
		if (n || dead)
			return n;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		err = wait_event_interruptible(*ktb_chardev_wait(session, reader->cpu),
					       ktb_chardev_readable(session, reader->cpu) ||
					       ktb_session_dead(session));
		if (err)
			return err;
	}
}

static const struct file_operations ktb_chardev_fops = {
	.owner		= THIS_MODULE,
	.open		= ktb_chardev_open,
	.release	= ktb_chardev_release,
	.unlocked_ioctl	= ktb_chardev_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.mmap		= ktb_chardev_mmap,
	.poll		= ktb_chardev_poll,
	.read		= ktb_chardev_read,
	.llseek		= noop_llseek,
};

static struct miscdevice ktb_chardev = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "ktrace_bridge",
	.fops	= &ktb_chardev_fops,
	.mode	= 0600,
};

/**
 * ktb_chardev_init - make the device
 *
 * Return: 0 or an error of misc_register().
 */
int ktb_chardev_init(void)
{
	return misc_register(&ktb_chardev);
}

/** ktb_chardev_exit - remove the device; no descriptor is open */
void ktb_chardev_exit(void)
{
	misc_deregister(&ktb_chardev);
}
