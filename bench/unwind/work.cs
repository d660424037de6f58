// SPDX-License-Identifier: BSD-2-Clause
// Calls, allocations and sorting, for bench/unwind/more.sh: four seconds.
using System;
using System.Collections.Generic;
using System.Linq;

class Work {
	static int Leaf(int n)
	{
		int s = 0;
		for (int i = 0; i < n; i++)
			s = (s * 31 + i) % 1000003;
		return s;
	}

	static int Fib(int n) { return n < 2 ? n : Fib(n - 1) + Fib(n - 2); }

	static int Sorted()
	{
		var words = new Dictionary<string, int>();
		for (int i = 0; i < 2000; i++)
			words["k" + i] = i;
		return words.Values.OrderBy(v => -v).First();
	}

	static void Main()
	{
		var end = DateTime.UtcNow.AddSeconds(4);
		long sum = 0;
		while (DateTime.UtcNow < end)
			sum += Enumerable.Range(1000, 50).Select(n => Leaf(n)).Sum() + Fib(18) + Sorted();
		Console.WriteLine(sum != 0);
	}
}
