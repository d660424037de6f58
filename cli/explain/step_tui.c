/* SPDX-License-Identifier: BSD-2-Clause */
/* The walk in a terminal: a step at a time, forward and back. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/param.h>
#include <termios.h>
#include <unistd.h>

#include "step.h"

struct screen {
	struct stepping *s;
	uint32_t step;
	int rows, columns;
	bool help;
};

static struct termios before;

/* ---- keys */

enum key { KEY_NONE, KEY_UP = 256, KEY_DOWN, KEY_RIGHT, KEY_LEFT, KEY_HOME, KEY_END };

static int read_byte(int timeout_ms)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };
	unsigned char c;

	if (poll(&fd, 1, timeout_ms) <= 0)
		return -1;
	return read(STDIN_FILENO, &c, 1) == 1 ? c : -1;
}

/* 'q' also where the terminal goes away. */
static int read_key(void)
{
	static const int keys[] = { ['A'] = KEY_UP,   ['B'] = KEY_DOWN, ['C'] = KEY_RIGHT,
				    ['D'] = KEY_LEFT, ['H'] = KEY_HOME, ['F'] = KEY_END };
	int c = read_byte(-1);

	if (c < 0)
		return errno == EINTR ? KEY_NONE : 'q';
	if (c != 27)
		return c;
	c = read_byte(50);
	if (c != '[' && c != 'O')
		return KEY_NONE;
	c = read_byte(50);
	return c > 0 && (size_t)c < sizeof(keys) / sizeof(keys[0]) ? keys[c] : KEY_NONE;
}

/* ---- moving */

/* The next step forward or back of which `is` holds; the one that it is at, if there is none. */
static uint32_t seek(const struct screen *v, int way,
		     bool (*is)(const struct screen *v, const struct asm_walk_step *step))
{
	const struct asm_walk *w = &v->s->walk;

	for (int64_t i = (int64_t)v->step + way; i >= 0 && i < w->nsteps; i += way)
		if (is(v, &w->steps[i]))
			return (uint32_t)i;
	return v->step;
}

static bool same_insn(const struct screen *v, const struct asm_walk_step *step)
{
	return step->insn == v->s->walk.steps[v->step].insn;
}

static bool begins_path(const struct screen *v, const struct asm_walk_step *step)
{
	return v->s->walk.paths[step->path].first == (uint32_t)(step - v->s->walk.steps);
}

static bool is_safe(const struct screen *v, const struct asm_walk_step *step)
{
	(void)v;
	return step->safe;
}

static void move(struct screen *v, int key)
{
	const struct asm_walk *w = &v->s->walk;
	const struct asm_walk_match *match = step_match(v->s, v->step);
	const uint32_t last = w->nsteps - 1;

	v->help = key == '?';
	if (key == KEY_RIGHT || key == ' ' || key == 'l')
		v->step += v->step < last;
	else if (key == KEY_LEFT || key == 'h')
		v->step -= v->step > 0;
	else if (key == KEY_DOWN || key == 'j')
		v->step = seek(v, 1, same_insn);
	else if (key == KEY_UP || key == 'k')
		v->step = seek(v, -1, same_insn);
	else if (key == ']')
		v->step = seek(v, 1, begins_path);
	else if (key == '[')
		v->step = seek(v, -1, begins_path);
	else if (key == 's')
		v->step = seek(v, 1, is_safe);
	else if (key == 'm' && match)
		v->step = match->step;
	else if (key == 'p' && w->steps[v->step].pushed != ASM_WALK_NONE)
		v->step = w->paths[w->steps[v->step].pushed].first;
	else if (key == KEY_HOME || key == 'g')
		v->step = 0;
	else if (key == KEY_END || key == 'G')
		v->step = last;
}

/* ---- drawing: all of it into memory, then line by line onto the screen */

static void put_window(struct screen *v, FILE *out)
{
	const struct asm_walk_step *at = &v->s->walk.steps[v->step];
	const struct explained *e = v->s->e;
	const uint32_t count = explained_count(e), half = (uint32_t)v->rows / 4;
	uint32_t slot = at->insn > half ? at->insn - half : 0, last_line = 0;
	char text[ASM_DISASM_SIZE];

	for (uint32_t n = 0; slot < count && n < 2 * half; slot++) {
		struct explained_line line;

		if (!explained_slots(e, slot))
			continue;
		if (explained_line(e, slot, &line) && line.line != last_line) {
			fprintf(out, "%s      %s:%u: %.*s%s\n", v->s->c->source,
				line.file ? line.file : "", line.line,
				line.macro ? (int)line.macro_len : 200,
				line.macro ? line.macro : line.text, v->s->c->off);
			last_line = line.line;
			n++;
		}
		explained_disasm(e, slot, text);
		fprintf(out, "%s%c %5u  %s%s\n", slot == at->insn ? "\033[7m" : "",
			slot == at->insn ? '>' : ' ', slot, text,
			slot == at->insn ? "\033[0m" : "");
		n++;
	}
}

static void put_state(struct screen *v, FILE *out)
{
	struct asm_walk *w = &v->s->walk;
	const uint32_t state = w->steps[v->step].state, after = asm_walk_after(w, v->step);

	for (uint32_t f = asm_walk_frames(w, state); f-- > 0;) {
		struct asm_walk_frame frame;

		asm_walk_frame(w, state, f, &frame);
		for (uint32_t i = 0; i < frame.nplaces; i++) {
			const struct asm_walk_place *p = &frame.places[i];
			const uint32_t is = after == ASM_WALK_NONE
						    ? p->value
						    : asm_walk_at(w, after, f, p->where);
			char place[32], bits[80];

			step_place(place, f, p->where);
			fprintf(out, "  %-10s %s%s%s", place, v->s->c->state,
				step_value(v->s, p->value), v->s->c->off);
			if (is != p->value)
				fprintf(out, "  %s-> %s%s", v->s->c->label,
					is == ASM_WALK_NONE ? "gone" : step_value(v->s, is),
					v->s->c->off);
			if (step_bits(v->s, is, bits))
				fprintf(out, "  %s%s%s", v->s->c->dim, bits, v->s->c->off);
			fputc('\n', out);
		}
	}
}

static void put_help(FILE *out)
{
	fputs("  right, space, l  a step forward      left, h  a step back\n"
	      "  down, j          the next visit of this instruction; up, k: the one before\n"
	      "  ] and [          the next path, the beginning of this one or the one before\n"
	      "  p                the path that was pushed here\n"
	      "  s                the next state that was safe; m: the state that covers it\n"
	      "  Home, g; End, G  the first step, the last\n"
	      "  q                leave\n",
	      out);
}

/* No line wraps: escape sequences take no columns. */
static void put_cut(const char *line, size_t len, int columns)
{
	int column = 0;

	for (size_t i = 0; i < len; i++) {
		if (line[i] == '\033') {
			const size_t end = i + strcspn(line + i, "m");

			fwrite(line + i, 1, MIN(end + 1, len) - i, stdout);
			i = end;
		} else if (column < columns) {
			fputc(line[i], stdout);
			column++;
		}
	}
	fputs("\033[0m\033[K\r\n", stdout);
}

static void draw(struct screen *v)
{
	const struct asm_walk *w = &v->s->walk;
	struct winsize size = { 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	const char *at;

	if (!out)
		return;
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	v->rows = size.ws_row ? size.ws_row : 24;
	v->columns = size.ws_col ? size.ws_col : 80;
	fprintf(out, "\033[7m step %u of %u  path %u of %u  ? keys, q leaves \033[0m\n", v->step,
		w->nsteps - 1, w->steps[v->step].path, w->npaths - 1);
	if (v->help) {
		put_help(out);
	} else {
		put_window(v, out);
		v->s->out = out;
		step_text_step(v->s, v->step);
		put_state(v, out);
	}
	fclose(out);
	fputs("\033[H", stdout);
	at = text;
	for (int row = 0; text && *at && row < v->rows - 1; row++) {
		const size_t n = strcspn(at, "\n");

		put_cut(at, n, v->columns);
		at += n + (at[n] == '\n');
	}
	fputs("\033[J", stdout);
	fflush(stdout);
	free(text);
}

static void restore(void)
{
	fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
}

int step_tui(struct stepping *s)
{
	struct screen v = { .s = s };
	struct termios raw;
	int key = KEY_NONE;

	if (tcgetattr(STDIN_FILENO, &before)) {
		step_text(s);
		return 0;
	}
	raw = before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
	fputs("\033[?1049h\033[?25l", stdout);
	if (!(s->e->asked && s->e->loaded >= 0) && s->walk.log.message)
		v.step = s->walk.nsteps - 1;
	/* Ctrl-C is a key as well: the terminal is left as it was. */
	raw.c_lflag &= ~(tcflag_t)ISIG;
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	while (key != 'q' && key != 3 && key != 4) {
		draw(&v);
		key = read_key();
		move(&v, key);
	}
	restore();
	return 0;
}
