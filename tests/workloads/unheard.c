/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unheard [N]: sends so many datagrams to a port of this machine at which nobody listens.
 *
 * The answer of each, an ICMP message, is made in a softirq, in the middle of the system call that
 * sent it: what it takes is no allocation of this process. Status 1 without a loopback interface.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>

#include "work.h"

int main(int argc, char **argv)
{
	struct sockaddr_in nobody = { .sin_family = AF_INET,
				      .sin_port = htons(9),
				      .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int n = argc > 1 ? atoi(argv[1]) : 1000, fd = socket(AF_INET, SOCK_DGRAM, 0);

	/* Half of the calls say what became of the one before. */
	while (n > 0) {
		if (sendto(fd, "x", 1, 0, (struct sockaddr *)&nobody, sizeof(nobody)) == 1)
			n--;
		else if (errno != ECONNREFUSED)
			return 1;
	}
	return 0;
}
