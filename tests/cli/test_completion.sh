#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What the completion of bash offers for the command at hand.
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/completion.bash
. scripts/completion.bash

# offers NAME EXPECTED WORDS...: of the command line's words the last one is completed.
offers() {
	COMP_WORDS=("$rawprof" "${@:3}") COMP_CWORD=$(($# - 2)) COMPREPLY=()
	_rawprof
	is "$1" "${COMPREPLY[*]}" "$2"
}
# one_of NAME WORD WORDS...: it is among what is offered.
one_of() {
	COMP_WORDS=("$rawprof" "${@:3}") COMP_CWORD=$(($# - 2)) COMPREPLY=()
	_rawprof
	has "$1" <(printf '%s\n' "${COMPREPLY[@]}") "^$2\$"
}

offers 'a command' offcpu off
offers '--by of lock' 'lock caller thread type releaser outcome' lock --by ''
offers '--by of lock, begun' releaser lock --by r
offers '--by of offcpu' 'cpu process' offcpu --runq --by ''
offers '--by of io' 'disk op flags process comm cgroup phase call fs' io --by ''
offers '--by of io, a second word' 'disk,process disk,phase' io --by disk,p
offers '--by of io, a third word' disk,op,flags io --by disk,op,fl
offers '--by of cpu: there is none' '' cpu --by ''
offers '--sort of cpu' 'self total' cpu --sort ''
offers '--sort of lock' 'timed_out' lock --sort ti
offers '--sort of io' 'mean mean_size' io --pattern --sort me
offers '--call-graph' 'eh fp' wall --call-graph ''
one_of 'a format of io' prometheus io --format ''
one_of 'an option of io' --fsync io ''

# lock is asked for what it refuses for another reason, behind its look at the word.
for by in lock caller thread type releaser outcome; do
	run "$rawprof" lock --stacks --by $by
	has "lock knows --by $by" "$err" '--by is for rows'
done
run "$rawprof" lock --stacks --by process
has 'lock does not know --by process' "$err" '--by wants lock, caller'
finish
