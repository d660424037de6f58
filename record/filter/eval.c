/* SPDX-License-Identifier: BSD-2-Clause */
/* The tree and an event: kept or not? What compile.c makes of the same tree says the same. */
#include <string.h>

#include "record/filter/tree.h"

/* ---- what the record has */

/* The bytes of a record, zeros behind its end. */
static void copy(const struct record_filter_event *event, size_t offset, void *out, size_t size)
{
	const size_t there = offset < event->size ? event->size - offset : 0;

	memset(out, 0, size);
	if (there)
		memcpy(out, (const char *)event->record + offset, there < size ? there : size);
}

static uint64_t unsigned_at(const struct record_filter_event *event, size_t offset, size_t size)
{
	union {
		uint8_t b;
		uint16_t h;
		uint32_t w;
		uint64_t dw;
	} number = { 0 };

	copy(event, offset, &number, size);
	return size == 1 ? number.b : size == 2 ? number.h : size == 4 ? number.w : number.dw;
}

static struct filter_number field_number(const struct record_filter_event *event,
					 const struct record_filter_field *field)
{
	struct filter_number number = { 0 };
	unsigned int unused = 64 - 8 * field->size;

	switch (field->kind) {
	case RECORD_FILTER_PID:
		number.bits = event->pid;
		break;
	case RECORD_FILTER_TID:
		number.bits = event->tid;
		break;
	case RECORD_FILTER_CPU:
		number.bits = event->cpu;
		break;
	case RECORD_FILTER_UID:
		number.bits = event->uid;
		break;
	default:
		number.bits = unsigned_at(event, field->offset, field->size);
		if (!field->is_signed)
			break;
		number.bits = (uint64_t)((int64_t)(number.bits << unused) >> unused);
		number.negative = (int64_t)number.bits < 0;
	}
	return number;
}

/* ---- strings: room for FILTER_STRING_MAX bytes and a NUL; their length */

static size_t string_in_record(const struct record_filter_event *event, size_t offset, size_t size,
			       char *out)
{
	if (size > FILTER_STRING_MAX)
		size = FILTER_STRING_MAX;
	copy(event, offset, out, size);
	out[size] = '\0';
	return strlen(out);
}

static size_t string_at(const struct record_filter_event *event, bool user, uint64_t address,
			char *out)
{
	if (!event->read_string ||
	    event->read_string(event->ctx, user, address, out, FILTER_STRING_MAX + 1) < 0)
		out[0] = '\0';
	return strlen(out);
}

static size_t field_string(const struct record_filter_event *event,
			   const struct record_filter_field *field, char *out)
{
	const size_t offset = field->offset;
	uint32_t loc;

	switch (field->kind) {
	case RECORD_FILTER_CHARS:
		return string_in_record(event, offset, field->size, out);
	case RECORD_FILTER_DATA_LOC:
	case RECORD_FILTER_REL_LOC:
		loc = (uint32_t)unsigned_at(event, offset, 4);
		return string_in_record(
			event,
			(loc & 0xffff) + (field->kind == RECORD_FILTER_REL_LOC ? offset + 4 : 0),
			loc >> 16, out);
	case RECORD_FILTER_KERNEL_STRING:
	case RECORD_FILTER_USER_STRING:
		return string_at(event, field->kind == RECORD_FILTER_USER_STRING,
				 unsigned_at(event, offset, 8), out);
	default: /* RECORD_FILTER_COMM */
		strncpy(out, event->comm ? event->comm : "", 16);
		out[15] = '\0';
		return strlen(out);
	}
}

/* ---- the tree */

static struct filter_number number_of(const struct filter_node *node,
				      const struct record_filter_event *event)
{
	if (node->op == FILTER_NUMBER)
		return node->number;
	if (node->op == FILTER_FIELD)
		return field_number(event, node->field);
	return (struct filter_number){ number_of(node->left, event).bits &
				       number_of(node->right, event).bits };
}

static int order(const struct filter_node *node, const struct record_filter_event *event)
{
	return record_filter_compare(number_of(node->left, event), number_of(node->right, event));
}

static bool string_holds(const struct filter_node *node, const struct record_filter_event *event)
{
	char s[FILTER_STRING_MAX + 1];
	const size_t length = field_string(event, node->field, s);

	if (node->op == FILTER_LIKE)
		return record_filter_glob_matches(&node->glob, s, length);
	return length == node->length && !memcmp(s, node->text, length);
}

static bool holds(const struct filter_node *node, const struct record_filter_event *event)
{
	switch (node->op) {
	case FILTER_TRUE:
		return true;
	case FILTER_NOT:
		return !holds(node->left, event);
	case FILTER_AND:
		return holds(node->left, event) && holds(node->right, event);
	case FILTER_OR:
		return holds(node->left, event) || holds(node->right, event);
	case FILTER_LT:
		return order(node, event) < 0;
	case FILTER_LE:
		return order(node, event) <= 0;
	case FILTER_GT:
		return order(node, event) > 0;
	case FILTER_GE:
		return order(node, event) >= 0;
	case FILTER_EQ:
		return !order(node, event);
	case FILTER_NE:
		return order(node, event);
	case FILTER_SAME:
	case FILTER_LIKE:
		return string_holds(node, event);
	default: /* FILTER_FALSE; numbers are no conditions */
		return false;
	}
}

bool record_filter_keeps(const struct record_filter *filter,
			 const struct record_filter_event *event)
{
	return holds(filter->root, event);
}
