<?php
// SPDX-License-Identifier: BSD-2-Clause
// Functions of PHP of all sorts, on known lines: each burns time or waits at the end of a stack, which is told first,
// as debug_backtrace() says it: frames.php spin|nap SECONDS
function tell(): void
{
	$frames = [];
	$trace = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
	foreach ($trace as $i => $of) {
		$by = $trace[$i + 1] ?? null; // whose line it is
		$name = $by === null ? '{main}' : (isset($by['class']) ? $by['class'] . '::' : '') . $by['function'];
		$name = ['include' => '{main}', 'eval' => '{eval}'][$name] ?? $name;
		array_unshift($frames, isset($of['file']) ? $name . ' ' . basename($of['file']) . ':' . $of['line'] : $name);
	}
	array_pop($frames); // of rest(), which has more than one line
	echo implode(';', $frames), "\n";
}

function rest(): void
{
	tell();
	if ($GLOBALS['argv'][1] === 'nap') {
		usleep((int)(1e6 * $GLOBALS['argv'][2]));
		return;
	}
	$end = used() + $GLOBALS['argv'][2];
	while (used() < $end)
		;
}

function recursion(int $n): void
{
	if ($n)
		recursion($n - 1);
	else
		rest();
}

class Größe
{
	public function methode(): void { rest(); }
	public static function statisch(): void { rest(); }
	public function __call($name, $arguments) { rest(); }
	public function __toString(): string
	{
		rest();
		return '';
	}
	public function __destruct() { rest(); }
	public function closure(): Closure
	{
		return function () {
			rest();
		};
	}
}

class Kind extends Größe
{
	public function __destruct() { }
}

function generator()
{
	yield 1;
	rest();
	yield 2;
}

function compare($a, $b): int
{
	static $once = 0;
	if (!$once++)
		rest();
	return $a <=> $b;
}

usleep(500000); // until what is mapped is known, on a busy machine too
recursion(5);
(new Kind)->methode();
Kind::statisch();
(new Kind)->unbekannt();
(string)(new Kind);
(new Kind)->closure()();
(function () {
	$größe = new Größe;
})();
array_map(function ($x) { rest(); }, [1]);
$list = [2, 1];
usort($list, 'compare');
foreach (generator() as $x)
	;
eval('function evaled() { rest(); }
evaled();');
set_error_handler(function () { rest(); return true; });
$list[7];
file_put_contents($file = sys_get_temp_dir() . '/rawprof-included.' . getmypid() . '.php', "<?php\n\nrest();\n");
include $file;
unlink($file);
$fiber = new Fiber(function () { rest(); });
$fiber->start();
(fn() => rest())();

// CPU time: a busy machine gives less of it than passes.
function used(): float
{
	$of = getrusage();
	return $of['ru_utime.tv_sec'] + $of['ru_stime.tv_sec'] + 1e-6 * ($of['ru_utime.tv_usec'] + $of['ru_stime.tv_usec']);
}
