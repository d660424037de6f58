/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration of destinations: lines "key = value". "push" begins a destination, and what
 * follows belongs to it until the next one; rules are carried out in their order.
 *
 *	push = pyroscope+https://profiles.example.com
 *	token-file = /etc/rawprof/token
 *	push = otlp+http://127.0.0.1:4318
 *
 *	label = cluster west
 *	drop = exe *test*,*bench*
 *	replace = unit getty@*.service service_name getty
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "base/grow.h"
#include "base/hash.h"
#include "cli/option_rows.h"
#include "push.h"
#include "record/confine.h"

#define MAX_FILE (1u << 20)
#define MAX_PAIRS (8u << 20)
#define MAX_RULES 1000

static const char *const types[PUSH_TYPES] = { [PUSH_PYROSCOPE] = "pyroscope",
					       [PUSH_INGEST] = "pyroscope-ingest",
					       [PUSH_PARCA] = "parca",
					       [PUSH_OTLP] = "otlp" };
static const char *const texts[PUSH_TEXTS] = {
	[PUSH_TOKEN] = "token",	  [PUSH_USER] = "user", [PUSH_CA] = "ca",
	[PUSH_CERT] = "cert",	  [PUSH_KEY] = "key",	[PUSH_PROXY] = "proxy",
	[PUSH_TENANT] = "tenant",
};
static const char *const rules[] = { [PUSH_KEEP] = "keep",
				     [PUSH_DROP] = "drop",
				     [PUSH_REPLACE] = "replace",
				     [PUSH_REMOVE] = "remove",
				     [PUSH_LABEL] = "label" };

/* The place of a word in a list of n; -1: it is not in it. */
static int place_of(const char *const *list, size_t n, const char *word, size_t length)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(list[i]) == length && !memcmp(list[i], word, length))
			return (int)i;
	return -1;
}
#define PLACE_OF(list, word, length) place_of(list, sizeof(list) / sizeof((list)[0]), word, length)

/* ---- destinations */

static int __attribute__((format(printf, 2, 3)))
why_not(char why[PUSH_WHY], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, PUSH_WHY, format, args);
	va_end(args);
	return -EINVAL;
}

/* Nothing in it may end a line of HTTP's head. */
static int check_url(const char *url, char why[PUSH_WHY])
{
	const char *host = strstr(url, "://");

	if (strncmp(url, "http://", 7) && strncmp(url, "https://", 8))
		return why_not(why, "'%.100s' does not begin with http:// or https://", url);
	for (const char *c = url; *c; c++)
		if ((unsigned char)*c <= ' ' || (unsigned char)*c > '~' || strchr("?#\"\\", *c))
			return why_not(why, "'%.100s' is no URL without a query", url);
	return strcspn(host + 3, "/") ? 0 : why_not(why, "'%.100s' has no host", url);
}

static int add_target(struct push_config *c, const char *name, char why[PUSH_WHY])
{
	const char *plus = strchr(name, '+');
	const int type = plus ? PLACE_OF(types, name, (size_t)(plus - name)) : -1;
	struct push_target *t = &c->target[c->ntargets];
	size_t n;

	if (strchr(name, '@')) /* before any message has it: whatever else is wrong */
		return why_not(why, "%s", "no name and password in a URL: user-file has them");
	if (type < 0)
		return why_not(why,
			       "'%.100s' is no destination: pyroscope, pyroscope-ingest, parca or "
			       "otlp, a +, and a URL",
			       name);
	if (check_url(plus + 1, why))
		return -EINVAL;
	if (c->ntargets == PUSH_MAX_TARGETS)
		return why_not(why, "%s", "more than 8 destinations");
	for (size_t i = 0; i < c->ntargets; i++)
		if (!strcmp(c->target[i].name, name))
			return why_not(why, "%.100s is there twice", name);
	*t = (struct push_target){ .type = (enum push_type)type, .timeout = 10 };
	t->name = strdup(name);
	t->url = strdup(plus + 1);
	c->ntargets++;
	if (!t->name || !t->url)
		return -ENOMEM;
	for (n = strlen(t->url); n && t->url[n - 1] == '/'; n--)
		t->url[n - 1] = '\0';
	t->id = rp_hash_lasting(name, strlen(name));
	t->id += !t->id; /* 0 is none */
	return 0;
}

/* What is sent in a head: printable, and no more lines than one. */
static bool is_head_text(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return true;
}

static int set_text(struct push_target *t, enum push_text which, const char *value,
		    char why[PUSH_WHY])
{
	const bool pem = which == PUSH_CA || which == PUSH_CERT || which == PUSH_KEY;

	if (pem && !strstr(value, "-----BEGIN "))
		return why_not(why, "%s: no certificate or key in PEM form", texts[which]);
	if (!pem && !is_head_text(value))
		return why_not(why, "%s is more than one line of text", texts[which]);
	free(t->text[which]);
	t->text[which] = strdup(value);
	return t->text[which] ? 0 : -ENOMEM;
}

static int add_header(struct push_target *t, const char *value, char why[PUSH_WHY])
{
	const size_t n = strcspn(value, ":");
	char *copy;
	int err;

	if (!n || !value[n] || !is_head_text(value) || strcspn(value, " \t") < n)
		return why_not(why, "%s", "a header is 'Name: value'");
	copy = strdup(value);
	err = copy ? RP_PUSH(t->header, t->nheaders, t->headers_cap, copy) : -ENOMEM;
	if (err)
		free(copy);
	return err;
}

/* Keys that belong to the destination before them. 1: it is none of them. */
static int set_of_target(struct push_config *c, const char *key, const char *value,
			 char why[PUSH_WHY])
{
	struct push_target *t = c->ntargets ? &c->target[c->ntargets - 1] : NULL;
	const int text = PLACE_OF(texts, key, strlen(key));
	const bool other = !strcmp(key, "header") || !strcmp(key, "verify") ||
			   !strcmp(key, "timeout") || !strcmp(key, "debuginfo");
	double seconds;

	if (text < 0 && !other)
		return 1;
	if (!t)
		return why_not(why, "%.40s stands behind the push that it is for", key);
	if (text >= 0)
		return set_text(t, (enum push_text)text, value, why);
	if (*key == 'h')
		return add_header(t, value, why);
	if (*key == 'v' || *key == 'd') {
		const bool no = !strcmp(value, "no");

		if (!no && strcmp(value, "yes"))
			return why_not(why, "%.40s is yes or no, not '%.60s'", key, value);
		if (*key == 'd' && t->type != PUSH_PARCA)
			return why_not(why, "%s", "debuginfo is for parca alone");
		*(*key == 'v' ? &t->unverified : &t->debuginfo) = no == (*key == 'v');
		return 0;
	}
	if (!option_seconds(value, &seconds) || seconds < 1 || seconds > 300)
		return why_not(why, "timeout is 1 to 300 seconds, not '%.60s'", value);
	t->timeout = seconds;
	return 0;
}

/* ---- rules */

/* The next word of a line, which is changed; NULL: there is none. */
static char *next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " \t");
	const size_t n = strcspn(word, " \t");

	if (!n)
		return NULL;
	*rest = word + n;
	if (**rest)
		*(*rest)++ = '\0';
	*rest += strspn(*rest, " \t");
	return word;
}

static bool is_label(const char *s)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	const size_t n = s ? strspn(s, letters) : 0;

	return n && strlen(s) < 64 &&
	       s[n + strspn(s + n, "0123456789.-_"
				   "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';
}

static void free_rule(struct push_rule *r)
{
	free(r->label);
	free(r->globs);
	free(r->target);
	free(r->value);
}

static char *copy_of(const char *s)
{
	return strdup(s ? s : "");
}

static int add_rule(struct push_config *c, enum push_rule_kind kind, const char *value,
		    char why[PUSH_WHY])
{
	static const char *const form[] = { [PUSH_KEEP] = "keep = LABEL GLOBS",
					    [PUSH_DROP] = "drop = LABEL GLOBS",
					    [PUSH_REPLACE] = "replace = LABEL GLOBS TARGET TEXT",
					    [PUSH_REMOVE] = "remove = LABEL",
					    [PUSH_LABEL] = "label = LABEL TEXT" };
	char *line = strdup(value), *rest = line;
	struct push_rule r = { .kind = kind };
	const char *label = line ? next_word(&rest) : NULL, *globs = NULL, *target = NULL;
	int err = line ? 0 : -ENOMEM;

	if (kind != PUSH_REMOVE && kind != PUSH_LABEL)
		globs = line ? next_word(&rest) : NULL;
	if (kind == PUSH_REPLACE)
		target = line ? next_word(&rest) : NULL;
	if (!err && (!is_label(label) || (kind == PUSH_REMOVE ? *rest : !globs && !*rest) ||
		     (globs && kind != PUSH_REPLACE && *rest) ||
		     (kind == PUSH_REPLACE && !is_label(target))))
		err = why_not(why, "a rule is '%s'", form[kind]);
	if (!err && c->nrules == MAX_RULES)
		err = why_not(why, "%s", "more than 1000 rules");
	if (!err) {
		r.label = copy_of(label);
		r.globs = copy_of(globs);
		r.target = copy_of(kind == PUSH_LABEL ? label : target);
		r.value = copy_of(rest);
		err = r.label && r.globs && r.target && r.value
			      ? RP_PUSH(c->rule, c->nrules, c->rules_cap, r)
			      : -ENOMEM;
	}
	if (err)
		free_rule(&r);
	free(line);
	return err;
}

/* ---- the rest */

#define OPTION_STRUCT struct push_config
static const struct option_row numbers[] = {
	OPTION("max-series", 0, OUTPUT, NUMBER, max_series, "N", "", .least = 1, .most = 100000),
	OPTION("spool", 0, OUTPUT, BYTES, spool_bytes, "BYTES", "", .least = 4096),
	OPTION("spool-time", 0, OUTPUT, SECONDS, spool_time, "SECONDS", ""),
};

static int set_number(struct push_config *c, const char *key, const char *value, char why[PUSH_WHY])
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (strcmp(numbers[i].name, key))
			continue;
		return option_take(c, &numbers[i], value)
			       ? 0
			       : why_not(why, "'%.60s' is not what it can be", value);
	}
	return 1;
}

static int set_series(struct push_config *c, const char *value, char why[PUSH_WHY])
{
	char *copy = strdup(value), *rest = copy, *word;
	bool ok = copy;

	while (ok && (word = strsep(&rest, ",")))
		ok = is_label(word);
	free(copy);
	if (!ok)
		return copy ? why_not(why, "'%.60s' is no list of labels", value) : -ENOMEM;
	free(c->series);
	c->series = strdup(value);
	return c->series ? 0 : -ENOMEM;
}

static int set_keep(struct push_config *c, const char *value, char why[PUSH_WHY])
{
	static const char *const words[] = { "comm", "pid", "tid", "labels" };

	c->keep = 0;
	while (*value) {
		const size_t n = strcspn(value, ",");
		const int i = PLACE_OF(words, value, n);

		if (i < 0)
			return why_not(why,
				       "within is a list of comm, pid, tid, labels, not '%.60s'",
				       value);
		c->keep |= 1u << i;
		value += n + (value[n] == ',');
	}
	return 0;
}

static int set_one(struct push_config *c, const char *key, const char *value, char why[PUSH_WHY])
{
	const int rule = PLACE_OF(rules, key, strlen(key));
	int err;

	if (!strcmp(key, "push"))
		return add_target(c, value, why);
	if (rule >= 0)
		return add_rule(c, (enum push_rule_kind)rule, value, why);
	if (!strcmp(key, "series"))
		return set_series(c, value, why);
	if (!strcmp(key, "within"))
		return set_keep(c, value, why);
	err = set_of_target(c, key, value, why);
	if (err == 1)
		err = set_number(c, key, value, why);
	return err == 1 ? why_not(why, "there is no key '%.60s'", key) : err;
}

int push_config_set(struct push_config *c, const char *key, const char *value, char why[PUSH_WHY])
{
	const size_t nkey = strlen(key) + 1, nvalue = strlen(value) + 1;
	int err;

	*why = '\0';
	if (c->npairs + nkey + nvalue > MAX_PAIRS)
		return why_not(why, "%s", "a configuration of more than 8 MB");
	err = RP_GROW_TO(c->pairs, c->npairs + nkey + nvalue, c->pairs_cap);
	if (!err)
		err = set_one(c, key, value, why);
	if (err)
		return err;
	memcpy(c->pairs + c->npairs, key, nkey);
	memcpy(c->pairs + c->npairs + nkey, value, nvalue);
	c->npairs += nkey + nvalue;
	return 0;
}

void push_config_init(struct push_config *c)
{
	*c = (struct push_config){ .max_series = 200,
				   .spool_bytes = 256u << 20,
				   .spool_time = 86400 };
}

void push_config_free(struct push_config *c)
{
	for (size_t i = 0; i < c->ntargets; i++) {
		struct push_target *t = &c->target[i];

		for (size_t j = 0; j < PUSH_TEXTS; j++)
			free(t->text[j]);
		for (size_t j = 0; j < t->nheaders; j++)
			free(t->header[j]);
		free(t->header);
		free(t->name);
		free(t->url);
	}
	for (size_t i = 0; i < c->nrules; i++)
		free_rule(&c->rule[i]);
	free(c->rule);
	free(c->series);
	free(c->pairs);
	*c = (struct push_config){ 0 };
}

/* ---- files and lists */

static void cut_blanks(char *s)
{
	size_t n = strlen(s);

	while (n && strchr(" \t\r\n", s[n - 1]))
		s[--n] = '\0';
}

/* "token-file = PATH" is "token = what is in it". */
static int set_file(struct push_config *c, char *key, const char *path, push_reader *reader,
		    char why[PUSH_WHY])
{
	char *content = reader(path);
	int err;

	if (!content)
		return why_not(why, "cannot read %.150s", path);
	cut_blanks(content);
	key[strlen(key) - strlen("-file")] = '\0';
	err = push_config_set(c, key, content, why);
	free(content);
	return err;
}

static int parse_line(struct push_config *c, char *line, push_reader *reader, char why[PUSH_WHY])
{
	char *key = line + strspn(line, " \t"), *value = strchr(key, '=');
	size_t n;

	cut_blanks(key);
	if (!*key || *key == '#')
		return 0;
	if (!value)
		return why_not(why, "'%.60s' is no 'key = value'", key);
	*value++ = '\0';
	value += strspn(value, " \t");
	cut_blanks(key);
	n = strlen(key);
	if (n > 5 && !strcmp(key + n - 5, "-file"))
		return set_file(c, key, value, reader, why);
	return push_config_set(c, key, value, why);
}

int push_config_parse(struct push_config *c, const char *text, push_reader *reader,
		      char why[PUSH_WHY])
{
	char *copy = strdup(text), *rest = copy, *line, inner[PUSH_WHY];
	int err = copy ? 0 : -ENOMEM;
	unsigned int number = 0;

	*why = '\0';
	while (!err && (line = strsep(&rest, "\n"))) {
		number++;
		err = parse_line(c, line, reader, inner);
		if (err == -EINVAL)
			snprintf(why, PUSH_WHY, "%u: %.200s", number, inner);
	}
	free(copy);
	return err;
}

int push_config_list(struct push_config *c, const char *list, char why[PUSH_WHY])
{
	char *copy = strdup(list), *rest = copy, *word;
	int err = copy ? 0 : -ENOMEM;

	while (!err && (word = strsep(&rest, ",")))
		err = push_config_set(c, "push", word, why);
	free(copy);
	return err;
}

int push_config_unpack(struct push_config *c, const char *pairs, size_t size, char why[PUSH_WHY])
{
	int err = 0;

	*why = '\0';
	if (!size)
		return 0;
	if (pairs[size - 1])
		return -EINVAL;
	for (const char *at = pairs; at < pairs + size && !err;) {
		const char *value = at + strlen(at) + 1;

		if (value >= pairs + size)
			return -EINVAL;
		err = push_config_set(c, at, value, why);
		at = value + strlen(value) + 1;
	}
	return err;
}

static char *read_file(const char *path)
{
	size_t have = 0;
	ssize_t n = -1;
	struct stat st;
	char *text;
	int fd;

	record_read_as_user(true);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	record_read_as_user(false);
	text = fd < 0 ? NULL : malloc(MAX_FILE + 1);
	if (text && !fstat(fd, &st) && S_ISREG(st.st_mode))
		while (have < MAX_FILE && (n = read(fd, text + have, MAX_FILE - have)) > 0)
			have += (size_t)n;
	if (fd >= 0)
		close(fd);
	if (n || memchr(text, '\0', have)) {
		free(text);
		return NULL;
	}
	text[have] = '\0';
	return text;
}

int push_config_read(struct push_config *c, const char *path, const char *list)
{
	char *text = path ? read_file(path) : NULL, why[PUSH_WHY] = "";
	int err = 0;

	push_config_init(c);
	if (path && !text)
		err = rp_fail(-EIO, "cannot read the configuration %s", path);
	if (text)
		err = push_config_parse(c, text, read_file, why);
	free(text);
	if (err == -EINVAL)
		rp_fail(err, "%s:%s", path, why);
	if (!err && list) {
		err = push_config_list(c, list, why);
		if (err == -EINVAL)
			rp_fail(err, "--push: %s", why);
	}
	return err;
}
