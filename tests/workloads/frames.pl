# SPDX-License-Identifier: BSD-2-Clause
# Functions of Perl of all sorts, on known lines: each burns time or waits at the end of a stack, which is told first, as
# caller() says it: frames.pl spin|nap SECONDS
use strict;
use utf8;
use warnings;
use File::Temp qw(tempdir);
use List::Util qw(first reduce);
use Time::HiRes qw(time);

my ($how, $seconds, %within);

# Perl itself calls them within an eval, which caller() shows: nobody wrote it.
BEGIN {
	($how, $seconds) = @ARGV;
	%within = map { ($_ => 1) } qw(main::BEGIN main::END Größe::DESTROY main::on_signal);
	binmode STDOUT, ':utf8';
	select undef, undef, undef, 0.5; # until what is mapped is known, on a busy machine too
}

sub told {
	my @frames;
	for (my $i = 1; my @of = caller $i; $i++) {
		my @by = caller $i + 1; # whose line it is
		next if $within{ $of[3] } && @by && $by[3] eq '(eval)';
		next if !@by && ${^GLOBAL_PHASE} eq 'END';
		my $name = !@by ? '(main)' : $by[3] ne '(eval)' ? $by[3] : $by[7] ? '(require)' : '(eval)';
		(my $file = $of[1]) =~ s{.*/}{};
		unshift @frames, "$name $file:$of[2]";
	}
	print join(';', @frames), "\n";
}

sub rest {
	told();
	if ($how eq 'nap') {
		select undef, undef, undef, $seconds;
		return 1;
	}
	my $end = time + $seconds;
	1 while time < $end;
	return 1;
}

BEGIN {
	rest();
}

sub recursion {
	my $n = shift;
	if ($n > 2) {
		recursion($n - 1);
	} elsif ($n) {
		my $less = $n - 1;
		recursion($less);
	} else {
		rest();
	}
}

package Größe {
	use overload '""' => sub { main::rest() . '' }, '<=>' => sub { main::rest() };
	sub new { return bless {}, shift }
	sub methode { my $self = shift; main::rest() }
	sub DESTROY {
		main::rest();
	}
	our $AUTOLOAD;
	sub AUTOLOAD {
		main::rest();
	}
}

package Tied {
	sub TIESCALAR { return bless [], shift }
	sub FETCH {
		main::rest();
	}
}

package main;

sub on_signal {
	rest();
}

sub once {
	my ($done) = @_;
	rest() if !$$done++;
	return $_[1] <=> $_[2];
}

sub caught {
	my $x = eval {
		rest();
	};
	return rest();
}

sub by_goto { goto &recursion }

recursion(4);
Größe->methode;
Größe->unbekannt;
{
	my $größe = Größe->new;
}
my $size = bless {}, 'Größe';
my $text = "$size";
my $less = $size <=> 1;
bless $size, 'Other';
tie my $tied, 'Tied';
my $value = $tied;
my $closure = sub {
	rest();
};
$closure->();
map { rest() } 1;
first { rest() } 1, 2;
first {
	eval { rest() };
} 1;
reduce { my $n = caught(); $a + $b } 1, 2;
my $done = 0;
my @sorted = sort { once(\$done, $a, $b) } 2, 1, 3;
$done = 0;
@sorted = sort { my $order = once(\$done, $a, $b); $order } 2, 1, 3;
sub named { once(\$done, $a, $b) }
$done = 0;
@sorted = sort named 2, 1, 3;
eval 'sub evaled { rest() }

evaled();';
my $dir = tempdir(CLEANUP => 1);
for my $name ('required.pl', 'done.pl') {
	open my $out, '>', "$dir/$name" or die;
	print $out "\n\nmain::rest();\n1;\n";
	close $out;
}
require "$dir/required.pl";
do "$dir/done.pl";
local $SIG{USR1} = \&on_signal;
kill USR1 => $$;
local $SIG{__WARN__} = sub { rest() };
warn 'as it is';
local $SIG{__DIE__} = sub { rest() };
eval {
	die 'so';
};
$SIG{__DIE__} = 'DEFAULT';
'a' =~ /a(?{ rest() })/;
by_goto(0);
my sub lexical { rest() }
lexical();
unless ($value) {
	1;
} else {
	rest();
}
while ($value) {
	$value = 0;
	rest();
}
rest() for 1;

END {
	rest();
}
