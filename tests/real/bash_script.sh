# Work for an allocator, done by bash: associative arrays, string building, pattern replacement, here-documents,
# functions, subshells, pipelines, background jobs, traps and co-processes. Output depends on nothing but this text.
set -u

seed=12345

pseudo_random() {
    seed=$(((seed * 1103515245 + 12345) & 0x7fffffff))
    random=$((seed >> 8))
}

count_words() {
    local -A count=()
    local i word
    for ((i = 0; i < 15000; i++)); do
        pseudo_random
        word="w$((random % 700))"
        count[$word]=$((${count[$word]:-0} + 1))
    done
    for word in "${!count[@]}"; do
        printf '%s %s\n' "${count[$word]}" "$word"
    done | sort -k1,1nr -k2,2 | head -n 5
    echo "distinct ${#count[@]}"
}

build_strings() {
    local text='' i
    for ((i = 0; i < 3000; i++)); do
        text+="$i:abc "
    done
    local swapped=${text//abc/defgh}
    local -a fields=($swapped)
    echo "strings ${#text} ${#swapped} ${#fields[@]} ${fields[1234]} $(printf '%s' "$swapped" | sha1sum)"
}

sort_numbers() {
    local -a numbers=()
    local i
    for ((i = 0; i < 5000; i++)); do
        pseudo_random
        numbers+=("$random")
    done
    local -a sorted
    mapfile -t sorted < <(printf '%s\n' "${numbers[@]}" | sort -n)
    echo "sorted ${sorted[0]} ${sorted[2500]} ${sorted[-1]}"
}

fibonacci() {
    if (($1 < 2)); then
        echo "$1"
    else
        echo $(($(fibonacci $(($1 - 1))) + $(fibonacci $(($1 - 2)))))
    fi
}

nested_subshells() {
    (
        x=1
        (
            x=2
            (echo "inner $x")
        )
        echo "outer $x"
        exit 5
    )
    echo "subshell status $?"
}

background_jobs() {
    local -a pids=()
    local i pid
    for i in 1 2 3 4 5 6 7 8; do
        (
            text=''
            for ((j = 0; j < 500; j++)); do text+="$i$j"; done
            exit $((${#text} % 200))
        ) &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid"
        echo "job $?"
    done
}

long_pipeline() {
    seq 1 20000 | sed 's/7/seven/g' | grep -v 9 | awk '{ n += length($0) } END { print NR, n }'
    for i in {1..30}; do echo "$i" | (read -r line; echo "got $line"); done | tail -n 1
}

matched_patterns() {
    local i matches=0
    for ((i = 0; i < 5000; i++)); do
        [[ "key$i=value$((i * 3))" =~ ^key([0-9]*7)=value([0-9]+)$ ]] && matches=$((matches + BASH_REMATCH[2]))
    done
    echo "matches $matches"
}

handled_signals() {
    (
        trap 'echo "caught USR1"' USR1
        trap 'echo "leaving"' EXIT
        kill -USR1 "$BASHPID"
        eval "$(printf 'echo evaluated %s;' {1..50})" | tail -c 30
    )
}

talk_to_coprocess() {
    coproc upper { tr a-z A-Z; }
    local input=${upper[1]} output=${upper[0]} line
    echo "hello from the co-process" >&"$input"
    exec {input}>&-
    read -r line <&"$output"
    echo "$line"
    wait "$upper_PID"
}

here_document() {
    cat <<TEXT
$(for i in {1..200}; do printf 'line %d %s\n' "$i" "${i//1/one}"; done | tail -n 2)
TEXT
    wc -c <<<"$(printf 'x%.0s' {1..20000})"
}

count_words
build_strings
sort_numbers
echo "fibonacci $(fibonacci 11)"
nested_subshells
background_jobs
long_pipeline
matched_patterns
handled_signals
talk_to_coprocess
here_document
nonexistent_command_of_this_test 2>/dev/null || echo "not found: $?"
exit 3
