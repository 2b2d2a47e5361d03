#!/bin/bash
# git on libprofalloc: a history of some hundred commits, branches and merges, then clone, repack, gc, fsck and reading
# it all back. Dates and names are fixed, so that every object id is the same in every run.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

git_in() {
    under git -C "$@"
}

# The history, as git fast-import reads it: 400 commits, each changing a few of 300 files of very different sizes.
write_history() {
    /usr/bin/python3 - <<'PYTHON'
import sys

seed = 1


def below(limit):
    global seed
    seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
    return (seed >> 33) % limit


def text(lines):
    return "".join(f"line {i} {below(1000)} of some text {'x' * below(60)}\n" for i in range(lines))


def put(path, content):
    data = content.encode()
    print(f"M 100644 inline {path}\ndata {len(data)}\n{content}")


for number in range(400):
    message = f"commit {number}\n\n{text(below(5))}"
    print("commit refs/heads/main")
    print(f"committer A Name <a@example.org> {1600000000 + number * 60} +0100")
    print(f"data {len(message)}\n{message}")
    for _ in range(1 + below(6)):
        name = below(300)
        put(f"dir{name % 12}/sub{name % 5}/file{name}.txt", text(below(4000) if name % 40 == 0 else below(120)))
    print()
PYTHON
}

make_repository() {
    under git init --quiet --initial-branch=main origin
    git_in origin fast-import --quiet <"$scratch/history"
    git_in origin checkout --quiet -f main
    git_in origin rev-parse HEAD
}

# The everyday commands, one process each, most of which start others.
commit_by_hand() {
    local i
    for ((i = 0; i < 20; i++)); do
        echo "change $i" >>"origin/dir$((i % 12))/note$i.txt"
        git_in origin add -A
        git_in origin commit --quiet -m "by hand $i"
    done
    git_in origin checkout --quiet -b topic HEAD~10
    echo topic >origin/topic.txt
    git_in origin add topic.txt
    git_in origin commit --quiet -m "topic"
    git_in origin rebase --quiet HEAD~3
    git_in origin checkout --quiet main
    git_in origin merge --quiet --no-ff -m "merge topic" topic
    git_in origin tag -a -m "a tag" v1
    echo conflict >origin/dir0/note0.txt
    git_in origin stash --quiet
    git_in origin stash list
}

# --no-local makes upload-pack and index-pack do the work, over a pipe.
clone_and_pack() {
    under git clone --quiet --no-local origin copy
    git_in copy gc --quiet
    git_in copy fsck --full --strict
    git_in origin repack --quiet -a -d -f --depth=20 --window=10
    git_in origin gc --quiet --prune=now
    git_in origin fsck --full --strict
    git_in origin fetch --quiet ../copy main
    under git clone --quiet --bare --no-local --depth 50 "file://$PWD/origin" shallow.git
    git_in shallow.git fsck
    git_in shallow.git rev-list --count HEAD
    git_in copy status --short
}

read_back() {
    git_in copy log --stat --format=fuller >log.txt
    git_in copy log -p -M --graph >patches.txt
    git_in copy blame dir0/sub0/file0.txt >blame.txt
    git_in copy grep -n -E 'line 1[0-9] 9+' >grep.txt
    git_in copy diff --stat -C HEAD~200 HEAD >diff.txt
    git_in copy diff --word-diff HEAD~5 HEAD >>diff.txt
    git_in copy archive --format=tar HEAD >tree.tar
    git_in copy rev-list --objects --all | sort >objects.txt
    git_in copy shortlog -s -n HEAD
    git_in copy rev-parse no-such-thing || echo "exit $?"
}

work() {
    make_repository
    commit_by_hand
    clone_and_pack
    read_back
}

begin
need git git
cat >"$HOME/.gitconfig" <<'CONFIG'
[user]
    name = A Name
    email = a@example.org
[gc]
    auto = 0
    autoDetach = false
[pack]
    threads = 2
[index]
    threads = 2
[advice]
    detachedHead = false
[maintenance]
    auto = false
CONFIG
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000' GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat
write_history >"$scratch/history"
assert_interposed git --version
artefacts=(log.txt patches.txt blame.txt grep.txt diff.txt tree.tar objects.txt)
compare_ways work
