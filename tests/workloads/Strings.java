// SPDX-License-Identifier: BSD-2-Clause
// Compares strings, sorts them and makes more: compiled code that pushes registers in the middle of a method, and stubs
// of many kinds. So many seconds of CPU time.
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;

public class Strings {
	static long made;

	static String[] make(int n) {
		String[] texts = new String[n];

		for (int i = 0; i < n; i++)
			texts[i] = Integer.toString(i * 7919 % 50021);
		return texts;
	}

	static int caught(Object[] in, int i) {
		try {
			return ((String)in[i]).length();
		} catch (ClassCastException e) {
			return 1;
		}
	}

	static void work() {
		String[] texts = make(20000);
		Object[] objects = new Object[texts.length];

		Arrays.sort(texts);
		System.arraycopy(texts, 0, objects, 0, texts.length);
		objects[7] = 7;
		made += caught(objects, 7) + caught(objects, 8) + String.join("", texts).indexOf("123450");
	}

	public static void main(String[] args) {
		final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
		final long end = (long) (Double.parseDouble(args[0]) * 1e9);

		while (clock.getCurrentThreadCpuTime() < end)
			work();
		System.out.println(made);
	}
}
