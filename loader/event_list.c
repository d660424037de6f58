/* SPDX-License-Identifier: BSD-2-Clause */
/* event_list.c: several events in one word: "{cycles,instructions}:u,cpu/event=0x3c,umask=0/". */
#include "internal.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"

struct list {
	const char *text;
	struct rp_event *event;
	size_t n, capacity;
	uint32_t group; /* that we are in; 0 */
	uint32_t groups;
	const char *modifiers; /* of that group: NULL, or behind its ":" */
	size_t modifiers_length;
};

static int add(struct list *l, const char *name, size_t length)
{
	const bool tail = l->modifiers_length > 0;
	struct rp_event e;
	char *copy = NULL;
	int err = -ENOMEM;

	/* What stands behind the group stands behind each: "a/event=1/" + ":" + "u". */
	if (asprintf(&copy, "%.*s%s%.*s", (int)length, name, tail ? ":" : "",
		     (int)l->modifiers_length, tail ? l->modifiers : "") >= 0)
		err = rp_event_parse(copy, &e);
	free(copy);
	if (err)
		return err;
	e.group = l->group;
	return RP_PUSH(l->event, l->n, l->capacity, e);
}

static int add_tracepoint(void *ctx, const char *group, const char *event)
{
	char name[256];
	const int length = snprintf(name, sizeof(name), "%s:%s", group, event);

	return length < (int)sizeof(name) ? add(ctx, name, (size_t)length) : -ENAMETOOLONG;
}

static int add_glob(struct list *l, const char *name, size_t length)
{
	const size_t skip = length > 3 && !memcmp(name, "tp:", 3) ? 3 : 0;
	char *glob = strndup(name + skip, length - skip);
	int n = glob ? rp_tp_each(glob, add_tracepoint, l) : -ENOMEM;

	if (!n)
		n = rp_fail(-ENOENT, "no tracepoint is called as `%s' says", glob);
	free(glob);
	return n < 0 ? n : 0;
}

static int add_word(struct list *l, const char *name, size_t length)
{
	if (!length)
		return rp_fail(-EINVAL, "`%s': an event is missing at a comma", l->text);
	if (memchr(name, ':', length) && !memchr(name, '/', length) &&
	    (memchr(name, '*', length) || memchr(name, '?', length) || memchr(name, '[', length)))
		return add_glob(l, name, length);
	return add(l, name, length);
}

/* To the comma that ends an event: not one between slashes. */
static size_t word_length(const char *text, const char *end)
{
	bool slashes = false;
	const char *at = text;

	for (; at < end && (slashes || *at != ','); at++)
		slashes ^= *at == '/';
	return (size_t)(at - text);
}

static int add_words(struct list *l, const char *text, const char *end)
{
	int err;

	for (;; text++) {
		const size_t length = word_length(text, end);

		err = add_word(l, text, length);
		text += length;
		if (err || text == end)
			return err;
	}
}

/* "{a,b}:u"; *text is behind it afterwards. */
static int add_group(struct list *l, const char **text)
{
	const char *end = strchr(*text, '}');
	int err;

	if (!end || memchr(*text + 1, '{', (size_t)(end - *text - 1)))
		return rp_fail(-EINVAL, "`%s': a group is written {a,b}", l->text);
	l->group = ++l->groups;
	if (end[1] == ':') {
		l->modifiers = end + 2;
		l->modifiers_length = strcspn(l->modifiers, ",");
		if (!l->modifiers_length)
			return rp_fail(-EINVAL, "`%s': modifiers are missing behind the colon",
				       l->text);
	}
	err = add_words(l, *text + 1, end);
	*text = l->modifiers ? l->modifiers + l->modifiers_length : end + 1;
	l->modifiers = NULL;
	l->modifiers_length = 0;
	l->group = 0;
	if (!err && **text && **text != ',')
		err = rp_fail(-EINVAL, "`%s': a comma is missing behind a group", l->text);
	return err;
}

int rp_events_parse(const char *text, struct rp_event **out, size_t *n)
{
	struct list l = { .text = text };
	int err = 0;

	for (;; text++) {
		if (*text == '{') {
			err = add_group(&l, &text);
		} else {
			const size_t length = word_length(text, text + strlen(text));

			err = add_word(&l, text, length);
			text += length;
		}
		if (err || !*text)
			break;
	}
	if (err) {
		free(l.event);
		return err;
	}
	*out = l.event;
	*n = l.n;
	return 0;
}
