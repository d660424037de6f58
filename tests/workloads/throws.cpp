// SPDX-License-Identifier: BSD-2-Clause
// `throws N`: fails() is called N times and left by an exception each time, which passes passes()
// and is caught in catches(), which returns. Prints how often one was caught.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

static volatile int sink;

struct Counted {
	~Counted()
	{
		sink = sink + 1;
	}
};

__attribute__((noinline)) int fails(int i)
{
	if (i >= 0)
		throw std::runtime_error("failed");
	return i;
}

__attribute__((noinline)) int passes(int i)
{
	Counted counted;

	return fails(i) + sink;
}

__attribute__((noinline)) int catches(int i)
{
	try {
		return passes(i);
	} catch (const std::exception &) {
		return 1;
	}
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 1;
	int caught = 0;

	for (int i = 0; i < n; i++)
		caught += catches(i);
	printf("%d\n", caught);
	return 0;
}
