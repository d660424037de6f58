# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Completion of rawprof for bash. Commands, options and formats come from its own help.

_rawprof_words() {
	# shellcheck disable=SC2207 # no word has a space in it
	COMPREPLY=($(compgen -W "$1" -- "$2"))
}

# What rows or histograms are by; io takes a list.
_rawprof_by() {
	local before=''

	case $1 in
	lock) _rawprof_words 'lock caller thread type releaser outcome' "$2" ;;
	offcpu) _rawprof_words 'cpu process' "$2" ;;
	io)
		[[ $2 != *,* ]] || before=${2%,*},
		_rawprof_words "$(printf -- "${before//%/%%}%s " disk op flags process comm cgroup phase call fs)" "$2"
		;;
	esac
}

# Columns of the command's tables; the others have functions.
_rawprof_sort() {
	case $1 in
	lock) _rawprof_words 'total waits average longest timed_out no_wait' "$2" ;;
	io)
		_rawprof_words 'pid comm disk requests request_rate read written throughput mean device max bytes mean_size
			sequential random' "$2"
		;;
	mem) _rawprof_words 'self total pid comm allocations bytes rate' "$2" ;;
	*) _rawprof_words 'self total' "$2" ;;
	esac
}

_rawprof() {
	local prog=${COMP_WORDS[0]} cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[1]} commands i

	commands=$("$prog" help 2>/dev/null | sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p')
	if [ "$COMP_CWORD" = 1 ]; then
		_rawprof_words "$commands help --version" "$cur"
		return
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [ "${COMP_WORDS[i]}" = -- ]; then # from here on it is somebody else's command line
			if ((i + 1 == COMP_CWORD)); then
				mapfile -t COMPREPLY < <(compgen -c -- "$cur")
			else
				mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			fi
			return
		fi
	done
	case $prev in
	help) _rawprof_words "$commands" "$cur" ;;
	-p | --pid | -t | -L | --tid)
		_rawprof_words "$(find /proc -maxdepth 1 -name '[0-9]*' -printf '%f ' 2>/dev/null)" "$cur"
		;;
	--comm) _rawprof_words "$(cat /proc/[0-9]*/comm 2>/dev/null | sort -u)" "$cur" ;;
	-e | --event) _rawprof_words 'cpu-clock cycles instructions cache-misses branch-misses page-faults context-switches' "$cur" ;;
	--format) _rawprof_words "$("$prog" help "$command" 2>/dev/null | sed -n 's/^ *--format NAME *//p' | tr -d ',')" "$cur" ;;
	--by) _rawprof_by "$command" "$cur" ;;
	--hist) _rawprof_words 'type lock' "$cur" ;;
	--sort) _rawprof_sort "$command" "$cur" ;;
	--call-graph) _rawprof_words 'eh fp' "$cur" ;;
	-o | --output | --obj) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	--cgroup) mapfile -t COMPREPLY < <(compgen -d -- "${cur:-/sys/fs/cgroup/}") ;;
	*) _rawprof_words "$("$prog" help "$command" 2>/dev/null | grep -oE -- '--[a-z-]{2,}' | sort -u) --" "$cur" ;;
	esac
}
complete -F _rawprof rawprof
