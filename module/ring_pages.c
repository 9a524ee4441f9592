// SPDX-License-Identifier: GPL-2.0-only
/* The memory of a ring, and how a reader maps it. Process context. */

#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/vmalloc.h>

#include "ring.h"

static unsigned long ktb_ring_nr_data_pages(const struct ktb_ring *ring)
{
	return ring->size >> PAGE_SHIFT;
}

/*
 * What may be mapped how stands in the uapi header. The pages are inserted at
 * once and counted by the mapping, so that fork, split and move need no help
 * from us and a mapping may outlive the ring.
 */
static int ktb_ring_check_vma(const struct ktb_ring *ring,
			      struct vm_area_struct *vma,
			      unsigned long pgoff)
{
	unsigned long nr_pages = vma_pages(vma);
	unsigned long nr_data = ktb_ring_nr_data_pages(ring);
	bool control = pgoff == 0 && nr_pages == 1;
	bool data = pgoff <= 1 && (nr_pages == nr_data + 1 - pgoff ||
				   nr_pages == 2 * nr_data + 1 - pgoff);

	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (!control && !data)
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EACCES;
	if (!control && (vma->vm_flags & VM_WRITE))
		return -EACCES;
	return 0;
}

/**
 * ktb_ring_mmap - map a ring, or a part of it, into a process
 * @ring: the ring
 * @vma: the mapping to be
 * @pgoff: its first page, counted from the ring's control page
 *
 * Called with the mmap lock held.
 *
 * Return: 0, or
 * * -EINVAL - not shared, or neither the control page nor the data as a whole
 * * -EACCES - writable or executable where that is not allowed
 * * -ENOMEM - no memory for page tables
 */
int ktb_ring_mmap(struct ktb_ring *ring, struct vm_area_struct *vma,
		  unsigned long pgoff)
{
	bool control = pgoff == 0 && vma_pages(vma) == 1;
	int err = ktb_ring_check_vma(ring, vma, pgoff);

	if (err)
		return err;

	vm_flags_clear(vma, control ? VM_MAYEXEC : VM_MAYEXEC | VM_MAYWRITE);
	return remap_vmalloc_range(vma, ring->base, pgoff);
}

/**
 * ktb_ring_free_pages - let go of a ring's memory
 * @ring: the ring
 *
 * Mappings may still be there: they hold references on the pages. Process
 * context.
 */
void ktb_ring_free_pages(struct ktb_ring *ring)
{
	vunmap(ring->base);
	while (ring->nr_pages)
		put_page(ring->pages[--ring->nr_pages]);
	kvfree(ring->pages);
}

/**
 * ktb_ring_alloc_pages - memory for a ring: the control page, and the data twice in a row
 * @ring: the ring, with its size and CPU
 *
 * Process context.
 *
 * Return: 0, or -ENOMEM, also when the caller is being killed.
 */
int ktb_ring_alloc_pages(struct ktb_ring *ring)
{
	unsigned long nr_data = ktb_ring_nr_data_pages(ring);
	int node = cpu_to_node(ring->cpu);

	ring->pages = kvmalloc_array(1 + 2 * nr_data, sizeof(*ring->pages), KTB_RING_GFP);
	if (!ring->pages)
		return -ENOMEM;

	while (ring->nr_pages < 1 + nr_data) {
		struct page *page = fatal_signal_pending(current) ? NULL :
			alloc_pages_node(node, KTB_RING_GFP | __GFP_ZERO, 0);

		if (!page)
			goto err_free_pages;
		ring->pages[ring->nr_pages++] = page;
		cond_resched();
	}
	memcpy(ring->pages + 1 + nr_data, ring->pages + 1,
	       nr_data * sizeof(*ring->pages));

	ring->base = vmap(ring->pages, 1 + 2 * nr_data, VM_MAP | VM_USERMAP,
			  PAGE_KERNEL);
	if (!ring->base)
		goto err_free_pages;
	return 0;

err_free_pages:
	ktb_ring_free_pages(ring);
	return -ENOMEM;
}
