#!/usr/bin/env bash
# The reference of the core's headers has no warning, and their classes with the words of their comments.
set -euo pipefail
fail() { echo "FAILED: $*"; exit 1; }
status=0
said=$(docs/reference/reference.sh --help 2>&1) || status=$?
[ $status = 2 ] && [ "$said" = "reference: it takes a folder, and no flag --help" ] || fail "--help gave $status: $said"
command -v doxygen >/dev/null || { echo "skipped: doxygen is not installed"; exit 0; }
work=${TEST_TMPDIR:-$(mktemp -d)}
unset BUILD_WORKING_DIRECTORY BUILD_WORKSPACE_DIRECTORY
docs/reference/reference.sh "$work/out" || fail "Doxygen warns of the headers of coro or fabric"
for class in fabric::Endpoint fabric::CompletionQueue coro::EventLoop; do  # of drydock
  [ -s "$work/out/html/classdrydock_1_1${class/::/_1_1}.html" ] || fail "no page of $class"
done
# Words of a comment, and an indented list with its lines.
page=$work/out/html/classdrydock_1_1fabric_1_1Endpoint.html
grep -qF 'a reliable datagram endpoint' "$page" || fail "the class has no words"
grep -qE '(^|>) *kAgain +the queue is full' "$page" || fail "the list of errors has lost its lines"
echo "the reference is whole"
