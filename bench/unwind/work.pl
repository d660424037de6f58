# SPDX-License-Identifier: BSD-2-Clause
# Counts, sorts and rewrites the words of perl's own modules.
use strict;
use warnings;
my (%words, %pairs);
my ($rounds) = @ARGV;
my @files = glob("/usr/share/perl/*/*.p[ml] /usr/share/perl/*/*/*.pm");
sub note {
	my ($last, $word) = @_;
	$words{$word}++;
	$pairs{"$last $word"}++ if defined $last;
	return $word;
}
for (1 .. $rounds) {
	for my $path (@files) {
		open(my $in, '<', $path) or next;
		while (my $line = <$in>) {
			my $last;
			$line =~ s/#.*//;
			$last = note($last, lc $1) while $line =~ /([A-Za-z_]\w+)/g;
		}
	}
	my @best = sort { $pairs{$b} <=> $pairs{$a} || $a cmp $b } keys %pairs;
	print join(",", map { s/(\w)(\w*)/\U$1\E$2/gr } @best[0 .. 9]), "\n";
}
