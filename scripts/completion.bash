# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Completion of rawprof for bash. Commands, options and the words that these take come from the program itself.

_rawprof_words() {
	# shellcheck disable=SC2207 # no word has a space in it
	COMPREPLY=($(compgen -W "$1" -- "$2"))
}

# The value of an option: its name, what help calls the value, the words that it may be.
_rawprof_value() {
	local before=''

	case $1:$2 in
	--pid:* | --tid:*) _rawprof_words "$(find /proc -maxdepth 1 -name '[0-9]*' -printf '%f ' 2>/dev/null)" "$cur" ;;
	--comm:*) _rawprof_words "$(cat /proc/[0-9]*/comm 2>/dev/null | sort -u)" "$cur" ;;
	--cgroup:*) mapfile -t COMPREPLY < <(compgen -d -- "${cur:-/sys/fs/cgroup/}") ;;
	*:FILE | *:PATH) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	*:LIST)
		[[ $cur != *,* ]] || before=${cur%,*},
		_rawprof_words "${3:+$before${3// / $before}}" "$cur"
		;;
	*) _rawprof_words "$3" "$cur" ;;
	esac
}

_rawprof() {
	local prog=${COMP_WORDS[0]} cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[1]} commands i names value words known='' all=''

	commands=$("$prog" help 2>/dev/null | sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p')
	if [ "$COMP_CWORD" = 1 ]; then
		_rawprof_words "$commands help --version" "$cur"
		return
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [ "${COMP_WORDS[i]}" = -- ]; then # from here on it is another command line
			if ((i + 1 == COMP_CWORD)); then
				mapfile -t COMPREPLY < <(compgen -c -- "$cur")
			else
				mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			fi
			return
		fi
	done
	if [ "$prev" = help ]; then
		_rawprof_words "$commands" "$cur"
		return
	fi
	while IFS=: read -r names value words _; do
		known+=" $names " all+=" ${names##* }"
		if [[ " $names " = *" $prev "* && $value ]]; then
			_rawprof_value "${names##* }" "$value" "$words"
			return
		fi
	done < <("$prog" help --list "$command" 2>/dev/null)
	[[ $prev = -* && $known != *" $prev "* ]] || _rawprof_words "$all" "$cur"
}
complete -F _rawprof rawprof
