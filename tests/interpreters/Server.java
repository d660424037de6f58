// SPDX-License-Identifier: BSD-2-Clause
// Server PORT: a web server with four threads, that sorts, matches, packs and hashes; with -Dvirtual=yes each request has a
// virtual thread, by reflection so that it compiles for versions without them.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.math.BigInteger;
import java.net.InetSocketAddress;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

public class Server {
	record Item(String name, double price) {
		String json() {
			return String.format("{\"name\":\"%s\",\"price\":%.2f}", name, price);
		}
	}

	static String items() {
		List<Item> rows = new ArrayList<>();
		Random random = new Random(1);

		for (int i = 0; i < 50; i++)
			rows.add(new Item("item " + i, random.nextDouble()));
		rows.sort(Comparator.comparingDouble(Item::price));
		return rows.stream().map(Item::json).collect(Collectors.joining(",", "[", "]"));
	}

	static String match() {
		Matcher m = Pattern.compile("(a+)(b*)c?").matcher("aab".repeat(200) + "c");
		int n = 0;

		while (m.find())
			n += m.group(1).length();
		return Integer.toString(n);
	}

	static String digest() throws NoSuchAlgorithmException {
		MessageDigest sha = MessageDigest.getInstance("SHA-256");

		for (int i = 0; i < 50; i++)
			sha.update(new byte[4096]);
		return new BigInteger(1, sha.digest()).toString(16);
	}

	static String power() {
		return BigInteger.valueOf(3).pow(2000).toString();
	}

	static String answer(String path) throws NoSuchAlgorithmException {
		return switch (path) {
		case "/items" -> items();
		case "/match" -> match();
		case "/digest" -> digest();
		default -> power();
		};
	}

	static void handle(HttpExchange x) throws IOException {
		try (OutputStream out = x.getResponseBody()) {
			byte[] body = answer(x.getRequestURI().getPath()).getBytes();

			x.sendResponseHeaders(200, body.length);
			out.write(body);
		} catch (NoSuchAlgorithmException e) {
			throw new IOException(e);
		}
	}

	static Executor threads() throws ReflectiveOperationException {
		if (System.getProperty("virtual") == null)
			return Executors.newFixedThreadPool(4);
		return (Executor) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
	}

	public static void main(String[] args) throws IOException, ReflectiveOperationException {
		HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 16);

		server.createContext("/", Server::handle);
		server.setExecutor(threads());
		server.start();
	}
}
