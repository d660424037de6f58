/* SPDX-License-Identifier: BSD-2-Clause */
/* The terminal itself: taken over, given back as it was, and the signals that go with it. */
#ifndef CLI_TOP_TERMINAL_H
#define CLI_TOP_TERMINAL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct top_terminal {
	int in, out;
	int signals; /* signalfd of INT, TERM, HUP, QUIT, WINCH, TSTP, CONT */
	bool taken, alternate, color, utf8;
	struct termios before;
	sigset_t blocked;
};

/* -ENOTSUP after a message: there is no terminal that can place its cursor. */
int top_terminal_open(struct top_terminal *t, bool no_color);
/* Takes it over, again after a stop. 0 or a negative errno: the terminal is gone. */
int top_terminal_take(struct top_terminal *t);
/* As it was before. May be called at any time. */
void top_terminal_give_back(struct top_terminal *t);
void top_terminal_close(struct top_terminal *t);
void top_terminal_size(const struct top_terminal *t, unsigned int *columns, unsigned int *rows);
/* All of it. 0, or a negative errno: the terminal is gone. */
int top_terminal_write(struct top_terminal *t, const char *bytes, size_t n);
/* The next signal that came, 0: none. */
int top_terminal_signal(struct top_terminal *t);
/* Stops this process as SIGTSTP does, and comes back when it goes on. 0 or a negative errno. */
int top_terminal_stop(struct top_terminal *t);

#endif
