/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Configurations of the agent's destinations: what is accepted can be packed, and is the same when
 * it is unpacked; its rules are carried out on labels that the input has, too.
 */
#include <errno.h>

#include "cli/agent/push.h"
#include "fuzz.h"

static char *no_file(const char *path)
{
	return *path == '/' ? strdup("-----BEGIN nothing") : NULL;
}

static void check(const struct push_config *c)
{
	fuzz_check(c->ntargets <= PUSH_MAX_TARGETS && c->max_series);
	for (size_t i = 0; i < c->ntargets; i++) {
		const struct push_target *t = &c->target[i];

		fuzz_check(!strncmp(t->url, "http", 4) && t->id && t->timeout >= 1);
		for (size_t j = 0; j < t->nheaders; j++)
			fuzz_check(!strpbrk(t->header[j], "\r\n") && strchr(t->header[j], ':'));
		fuzz_check(!t->text[PUSH_TOKEN] || !strpbrk(t->text[PUSH_TOKEN], "\r\n"));
	}
}

static void relabel(const struct push_config *c, struct fuzz_input *in)
{
	static const char *const names[] = { "exe", "unit", "service_name", "x" };
	struct push_labels l = { 0 };
	int err;

	for (size_t i = 0; i < 4; i++) {
		char *text = fuzz_text(in);

		fuzz_check(!push_label_set(&l, names[i], text));
		free(text);
	}
	push_relabel(c, &l, &err);
	fuzz_check(!err && l.n <= PUSH_MAX_LABELS);
	for (size_t i = 0; i < l.n; i++) {
		fuzz_check(*l.label[i].str);
		fuzz_check(!i || strcmp(l.label[i - 1].key, l.label[i].key) < 0);
	}
	push_labels_free(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), why[PUSH_WHY];
	struct fuzz_input in = { data, data + size };
	struct push_config c, again;
	int err;

	memcpy(text, data, size);
	text[size] = '\0';
	push_config_init(&c);
	push_config_init(&again);
	err = push_config_parse(&c, text, no_file, why);
	fuzz_check(!err || (err == -EINVAL && *why && strlen(why) < PUSH_WHY));
	check(&c);
	if (!err) {
		fuzz_check(!push_config_unpack(&again, c.pairs, c.npairs, why));
		fuzz_check(again.npairs == c.npairs && again.nrules == c.nrules);
		fuzz_check(!c.npairs || !memcmp(again.pairs, c.pairs, c.npairs));
		relabel(&c, &in);
	} else {
		push_config_unpack(&again, (const char *)data, size, why);
	}
	push_config_free(&c);
	push_config_free(&again);
	free(text);
	return 0;
}
