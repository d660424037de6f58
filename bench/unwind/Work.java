// SPDX-License-Identifier: BSD-2-Clause
// Compiled code that calls, allocates and sorts for some seconds.
import java.util.Arrays;

public class Work {
	static long fib(int n) {
		return n < 2 ? n : fib(n - 1) + fib(n - 2);
	}

	public static void main(String[] args) {
		long sum = 0;
		for (int round = 0; round < 20; round++) {
			String[] texts = new String[50000];
			for (int i = 0; i < texts.length; i++)
				texts[i] = Integer.toString((i * 7919 + round) % 50021);
			Arrays.sort(texts);
			sum += fib(27) + texts[0].length();
		}
		System.out.println(sum);
	}
}
