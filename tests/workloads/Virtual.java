// SPDX-License-Identifier: BSD-2-Clause
// Virtual threads, which each sleep and burn CPU time by turns, for so many seconds: those that have slept go on with a
// part of their stack only. By reflection, so that it compiles for versions without them, where it ends with status 3.
import java.lang.reflect.Method;

public class Virtual {
	static volatile int sink;
	static long end;

	static void spin() {
		final long until = System.nanoTime() + 5_000_000;

		while (System.nanoTime() < until)
			sink = sink * 31 + 1;
	}

	static void turns() {
		try {
			while (System.nanoTime() < end) {
				Thread.sleep(1);
				spin();
			}
		} catch (InterruptedException e) {
			return;
		}
	}

	public static void main(String[] args) throws ReflectiveOperationException, InterruptedException {
		final Runnable task = Virtual::turns;
		final Thread[] threads = new Thread[4];
		Method start;

		try {
			start = Thread.class.getMethod("startVirtualThread", Runnable.class);
		} catch (NoSuchMethodException e) {
			System.exit(3);
			return;
		}
		end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9);
		for (int i = 0; i < threads.length; i++)
			threads[i] = (Thread) start.invoke(null, task);
		for (Thread thread : threads)
			thread.join();
	}
}
