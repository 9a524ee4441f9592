// SPDX-License-Identifier: LGPL-2.1-only
/* Values of a sample's fields; never beyond what the sample has. */
#include <string.h>

#include <event-parse.h>

#include "internal.h"

static bool has(const struct ktb_sample *sample, uint64_t offset, uint64_t len)
{
	return offset <= sample->raw_size && len <= sample->raw_size - offset;
}

static uint64_t read_number(const void *at, unsigned int size, bool is_signed)
{
	union {
		uint8_t u8;
		uint16_t u16;
		uint32_t u32;
		uint64_t u64;
	} value = { .u64 = 0 };

	memcpy(&value, at, size);
	switch (size) {
	case 1:
		return is_signed ? (uint64_t)(int8_t)value.u8 : value.u8;
	case 2:
		return is_signed ? (uint64_t)(int16_t)value.u16 : value.u16;
	case 4:
		return is_signed ? (uint64_t)(int32_t)value.u32 : value.u32;
	default:
		return value.u64;
	}
}

/*
 * A dynamic field holds length << 16 | offset of its data, counted from the
 * record's beginning, or from the field's own end if it is relative.
 */
static bool locate(const struct tep_format_field *format, const struct ktb_sample *sample,
		   struct ktb_field *field)
{
	const uint8_t *raw = sample->raw;
	uint64_t offset = format->offset;
	uint32_t where;

	field->len = format->size;
	if (format->flags & TEP_FIELD_IS_DYNAMIC) {
		if (!has(sample, offset, sizeof(where)))
			return false;
		memcpy(&where, raw + offset, sizeof(where));
		offset = where & 0xffff;
		if (format->flags & TEP_FIELD_IS_RELATIVE)
			offset += (uint64_t)format->offset + format->size;
		field->len = where >> 16;
	}
	field->data = raw + offset;
	return has(sample, offset, field->len);
}

static bool is_number(const struct tep_format_field *format)
{
	if (format->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_STRING | TEP_FIELD_IS_DYNAMIC))
		return false;
	return format->size == 1 || format->size == 2 || format->size == 4 || format->size == 8;
}

/* libtraceevent takes arrays of u8, addresses and the like, for strings too. */
static bool is_string(const struct tep_format_field *format)
{
	return format->flags & TEP_FIELD_IS_STRING && strstr(format->type, "char") &&
	       !strstr(format->type, "unsigned");
}

static unsigned int element_size(const struct tep_format_field *format)
{
	unsigned int size = format->elementsize;

	return size == 2 || size == 4 || size == 8 ? size : 1;
}

/* Returns false if the sample is too short to have the field. */
bool ktb_field_read(const struct tep_format_field *format, const struct ktb_sample *sample,
		    struct ktb_field *field)
{
	memset(field, 0, sizeof(*field));
	field->name = format->name;
	field->is_signed = format->flags & TEP_FIELD_IS_SIGNED;
	if (!locate(format, sample, field))
		return false;
	if (is_number(format)) {
		field->kind = field->is_signed ? KTB_FIELD_SIGNED : KTB_FIELD_UNSIGNED;
		field->number = read_number(field->data, format->size, field->is_signed);
	} else if (is_string(format)) {
		field->kind = KTB_FIELD_STRING;
		field->len = strnlen(field->data, field->len);
	} else {
		field->kind = KTB_FIELD_ARRAY;
		field->element = element_size(format);
		field->len -= field->len % field->element;
	}
	return true;
}
