// SPDX-License-Identifier: BSD-2-Clause
// Shares SECONDS: half of its CPU time in one(), three tenths in two(), two tenths in three().
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

public class Shares {
	static final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
	static volatile long sink;

	static void burn(int us) {
		long end = clock.getCurrentThreadCpuTime() + us * 1000L;

		while (clock.getCurrentThreadCpuTime() < end)
			for (int i = 0; i < 20000; i++)
				sink = sink * 31 + i;
	}

	static void one() {
		burn(5000);
	}

	static void two() {
		burn(3000);
	}

	static void three() {
		burn(2000);
	}

	public static void main(String[] args) {
		long stop = clock.getCurrentThreadCpuTime() + (long) (Double.parseDouble(args[0]) * 1e9);

		while (clock.getCurrentThreadCpuTime() < stop) {
			one();
			two();
			three();
		}
	}
}
