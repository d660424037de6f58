// SPDX-License-Identifier: BSD-2-Clause
// A tree of calls that ends in spin(), which burns so many seconds of CPU time; and a wait. Prints the stack that it has
// there, root first, as the virtual machine itself tells it: "Class.method File:line", ";" in between.
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.function.IntUnaryOperator;

public class Frames {
	static volatile int sink;
	static boolean said;

	interface Shape {
		int area(int n);
	}

	static class Square implements Shape {
		public int area(int n) {
			return recurse(n, 3);
		}
	}

	static int spin(int n) {
		int sum = n;

		for (int i = 0; i < 20000; i++)
			sum = step(sum, i);
		if (!said)
			say();
		return sum;
	}

	static int step(int sum, int i) {
		sink = sum;
		return sum * 31 + i;
	}

	static void say() {
		StackTraceElement[] stack = new Throwable().getStackTrace();
		StringBuilder text = new StringBuilder();

		for (int i = stack.length - 1; i > 1; i--)
			text.append(stack[i].getClassName() + "." + stack[i].getMethodName() + " "
				+ stack[i].getFileName() + ":" + stack[i].getLineNumber() + ";");
		System.out.println(text + "Frames.spin");
		said = true;
	}

	static int recurse(int n, int depth) {
		if (depth > 0)
			return recurse(n, depth - 1) + 1;
		return apply(Frames::spin, n);
	}

	static int apply(IntUnaryOperator f, int n) {
		return f.applyAsInt(n);
	}

	static synchronized int locked(Shape shape, int n) {
		return shape.area(n);
	}

	static void rest(long ms) throws InterruptedException {
		Thread.sleep(ms);
	}

	public static void main(String[] args) throws InterruptedException {
		final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
		final long end = (long) (Double.parseDouble(args[0]) * 1e9);

		for (int n = 0; clock.getCurrentThreadCpuTime() < end; n++)
			locked(new Square(), n);
		rest(300);
	}
}
