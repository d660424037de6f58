/* SPDX-License-Identifier: BSD-2-Clause */
/* The terminal: taken over, and given back as it was whatever ends the program. */
#include "terminal.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <rawprof/loader.h>

#define SHOW_CURSOR "\033[?25h"
#define HIDE_CURSOR "\033[?25l"
#define ALTERNATE "\033[?1049h"
#define MAIN_SCREEN "\033[?1049l"

/* For a crash: what is to be undone, and where. */
static struct top_terminal *taken;

/* ---- which terminal */

/* Those that have a second screen, which they show in place of what was there before. */
static bool has_alternate(const char *term)
{
	static const char *const names[] = { "xterm",	"screen",  "tmux", "rxvt", "alacritty",
					     "foot",	"kitty",   "st-",  "vte",  "gnome",
					     "konsole", "wezterm", "eterm" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(term, names[i], strlen(names[i])))
			return true;
	return false;
}

static bool has_color(const char *term)
{
	return has_alternate(term) || !strncmp(term, "linux", 5) || strstr(term, "color");
}

/* Terminals of before, and none: what they are sent would be shown as it is. */
static bool is_dumb(const char *term)
{
	return !term || !*term || !strcmp(term, "dumb") || !strcmp(term, "unknown") ||
	       !strcmp(term, "network") || !strncmp(term, "vt52", 4) || !strncmp(term, "tty", 3);
}

static int no_terminal(const char *term)
{
	return rp_fail(-ENOTSUP,
		       "TERM=%s: this terminal cannot place its cursor; `rawprof top | cat` prints "
		       "a line of JSON for each interval, TERM=vt100 makes it try",
		       term ? term : "");
}

/* ---- a crash */

static void on_crash(int signal)
{
	struct top_terminal *t = taken;

	if (t)
		top_terminal_give_back(t);
	raise(signal); /* with what it does by itself, SA_RESETHAND */
}

static void watch_crashes(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
	struct sigaction action = { .sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction before;

		if (!sigaction(signals[i], NULL, &before) && before.sa_handler == SIG_DFL)
			sigaction(signals[i], &action, NULL);
	}
}

/* ---- taken and given back */

int top_terminal_open(struct top_terminal *t, bool no_color)
{
	const char *term = getenv("TERM");
	sigset_t set;

	*t = (struct top_terminal){ .in = STDIN_FILENO, .out = STDOUT_FILENO, .signals = -1 };
	if (!isatty(t->in))
		return rp_fail(-ENOTSUP, "standard input is no terminal: there are no keys; "
					 "`rawprof top | cat` needs none");
	if (is_dumb(term))
		return no_terminal(term);
	t->alternate = has_alternate(term);
	t->color = !no_color && !getenv("NO_COLOR") && has_color(term);
	t->utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	if (tcgetattr(t->in, &t->before))
		return rp_fail(-errno, "the terminal: %s", strerror(errno));
	sigemptyset(&set);
	for (size_t i = 0; i < 7; i++)
		sigaddset(&set, (const int[]){ SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP,
					       SIGCONT }[i]);
	sigprocmask(SIG_BLOCK, &set, &t->blocked);
	t->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return t->signals < 0 ? rp_fail(-errno, "signalfd: %s", strerror(errno)) : 0;
}

int top_terminal_take(struct top_terminal *t)
{
	struct termios raw = t->before;
	const char *begin = t->alternate ? ALTERNATE HIDE_CURSOR : HIDE_CURSOR;

	raw.c_iflag &= (tcflag_t) ~(ICRNL | INLCR | ISTRIP | IXON);
	raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO | IEXTEN); /* ISIG stays: ^C, ^Z */
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(t->in, TCSANOW, &raw))
		return -errno;
	t->taken = true;
	taken = t;
	watch_crashes();
	return top_terminal_write(t, begin, strlen(begin));
}

void top_terminal_give_back(struct top_terminal *t)
{
	/* Without a second screen what was shown stays, and the cursor goes below it. */
	const char *end = t->alternate ? "\033[0m" SHOW_CURSOR MAIN_SCREEN
				       : "\033[0m\033[999;1H\r\n" SHOW_CURSOR;

	if (!t->taken)
		return;
	t->taken = false;
	taken = NULL;
	top_terminal_write(t, end, strlen(end));
	tcsetattr(t->in, TCSANOW, &t->before);
}

void top_terminal_close(struct top_terminal *t)
{
	top_terminal_give_back(t);
	if (t->signals < 0)
		return;
	while (top_terminal_signal(t))
		;
	close(t->signals);
	t->signals = -1;
	sigprocmask(SIG_SETMASK, &t->blocked, NULL);
}

/* A serial console does not know its size. */
void top_terminal_size(const struct top_terminal *t, unsigned int *columns, unsigned int *rows)
{
	const char *wide = getenv("COLUMNS"), *high = getenv("LINES");
	struct winsize size = { 0 };

	ioctl(t->out, TIOCGWINSZ, &size);
	*columns = size.ws_col ? size.ws_col : wide ? (unsigned int)strtoul(wide, NULL, 10) : 0;
	*rows = size.ws_row ? size.ws_row : high ? (unsigned int)strtoul(high, NULL, 10) : 0;
	*columns = *columns ? *columns : 80;
	*rows = *rows ? *rows : 24;
}

/* So long a terminal that takes nothing is waited for: ^S, or a line that is slow. */
#define WRITE_MS 2000

int top_terminal_write(struct top_terminal *t, const char *bytes, size_t n)
{
	while (n) {
		struct pollfd fd = { t->out, POLLOUT, 0 };
		ssize_t done;

		if (poll(&fd, 1, WRITE_MS) == 0)
			return 0;
		done = write(t->out, bytes, n);
		if (done < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		bytes += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return 0;
}

/* ---- signals */

int top_terminal_signal(struct top_terminal *t)
{
	struct signalfd_siginfo info;

	return read(t->signals, &info, sizeof(info)) == sizeof(info) ? (int)info.ssi_signo : 0;
}

int top_terminal_stop(struct top_terminal *t)
{
	top_terminal_give_back(t);
	raise(SIGSTOP);
	return top_terminal_take(t);
}
