// SPDX-License-Identifier: BSD-2-Clause
// What a compiler has to work on for a second or two: the heavier headers, instantiated.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

template <int N> struct fold {
	template <class T> static T of(const std::vector<T> &v)
	{
		std::map<T, std::vector<T>> groups;
		for (const T &x : v)
			groups[x % T(N + 1)].push_back(x);
		T sum{};
		for (auto &[key, group] : groups) {
			std::sort(group.begin(), group.end(), std::greater<T>());
			sum += std::accumulate(group.begin(), group.end(), key);
		}
		return sum + fold<N - 1>::of(v);
	}
};
template <> struct fold<0> {
	template <class T> static T of(const std::vector<T> &v)
	{
		return T(v.size());
	}
};

using value = std::variant<int, double, std::string, std::vector<int>>;
static std::string print(const value &v)
{
	std::ostringstream out;
	std::visit(
		[&](const auto &x) {
			if constexpr (std::is_same_v<std::decay_t<decltype(x)>, std::vector<int>>)
				for (int i : x)
					out << i << ' ';
			else
				out << x;
		},
		v);
	return std::regex_replace(out.str(), std::regex("([0-9]+) ([0-9]+)"), "$2 $1");
}

int WORK_NAME(int argc, char **argv)
{
	std::mt19937_64 random(argc);
	std::vector<long> v(1000);
	std::unordered_map<std::string, std::set<long>> names;
	std::generate(v.begin(), v.end(), [&] { return long(random() % 1000); });
	for (long x : v)
		names[argv[0] + std::to_string(x % 7)].insert(x);
	std::cout << fold<24>::of(v) << fold<16>::of(std::vector<int>(v.begin(), v.end()))
		  << print(std::vector<int>{ 1, 2, 3 }) << names.size() << '\n';
	return 0;
}
