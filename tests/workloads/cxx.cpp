// SPDX-License-Identifier: BSD-2-Clause
//
// cxx [CPU-SECONDS]: a C++ program with namespaces, templates, a lambda and a virtual call.
//
// A profiler must find two thirds of the time in store::Shelf<int>::count() and one third in that
// of store::Shelf<double>, both called through store::Thing by store::run().
#include <memory>
#include <vector>

#include "work.h"

namespace store
{
struct Thing {
	virtual ~Thing() = default;
	virtual void count(uint64_t end) = 0;
};

template <typename T> struct Shelf : Thing {
	NOINLINE void count(uint64_t end) override
	{
		burn_until(end);
		__asm__ volatile("");
	}
};

NOINLINE static void run(std::vector<std::unique_ptr<Thing>> &things, double seconds)
{
	uint64_t t = thread_cpu_ns(), end = t + (uint64_t)(seconds * 1e9),
		 random = 88172645463325252u;

	while (t < end) {
		uint64_t round = 500000 + next_random(&random) % 1000000;

		things[0]->count(t + round * 2 / 3);
		things[1]->count(t + round);
		t += round;
	}
}
} // namespace store

int main(int argc, char **argv)
{
	std::vector<std::unique_ptr<store::Thing>> things;

	things.push_back(std::make_unique<store::Shelf<int>>());
	things.push_back(std::make_unique<store::Shelf<double>>());
	store::run(things, seconds_arg(argc, argv, 1, 2));
	return 0;
}
