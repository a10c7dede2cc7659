#!/usr/bin/env bash
# What libdrydock_verbs.so shows to the programs that load it.
set -u

readonly LIBRARY="$1" EXPORTS="$2" ALONE="$3"
shift 3  # the rest: lists of what releases of rdma-core show
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# "ibv_reg_mr@IBVERBS_1.1" of each function that the library shows, by name.
exported() {
  nm -D --defined-only --with-symbol-versions "$LIBRARY" |
    awk '$2 != "A" && $2 ~ /^[A-Zui]$/ { sub("@@", "@", $3); print $3 }' | LC_ALL=C sort
}

# The same, as the version script lists them.
listed() {
  sed -e 's|/\*.*\*/||' -e '/\/\*/,/\*\//d' "$EXPORTS" | tr ';{}' '\n' | awk '
    { gsub(/^[ \t]+|[ \t]+$/, "") }
    /^(IBVERBS|EFA)_[0-9.]+$/ { version = $0 }
    { sub(/^global:[ \t]*/, "") }
    /^[a-z0-9_]*(ibv|efadv)_[a-z0-9_]+$/ { print $0 "@" version }' | LC_ALL=C sort
}

all=$(exported)
wanted=$(listed)

[ "$(wc -l <<<"$wanted")" -gt 60 ] || fail "the version script was not understood: $wanted"
if [ "$all" != "$wanted" ]; then
  fail "the library does not show what exports.map lists"
  diff <(echo "$wanted") <(echo "$all")
fi

# Nothing of C++: no mangled name, no unique object.
if grep -qE '^_Z' <<<"$all"; then fail "C++ leaks out: $(grep -E '^_Z' <<<"$all" | head -3)"; fi

# Every function is there under one version only.
twice=$(cut -d@ -f1 <<<"$all" | uniq -d)
[ -z "$twice" ] || fail "shown under several versions: $twice"

# "ibv_reg_mr@IBVERBS_1.1" of each function in a list of a release. Without those of the interface before 2007
# (IBVERBS_1.0, where 1.1 has the same name): whoever asks for one asks for all of them, and finds the real library's,
# which know no device.
released() {
  LC_ALL=C sort -k1,1 -k2,2r "$1" | awk '!/^#/ && !($2 == "IBVERBS_1.0" && $1 == last) { print $1 "@" $2 } { last = $1 }' |
    LC_ALL=C sort
}

# A function that is not here would be the real library's, and get objects that it does not know.
newest=""
for release in "$@"; do
  [ "$(released "$release" | wc -l)" -gt 70 ] || fail "$release was not understood"
  missing=$(LC_ALL=C comm -23 <(released "$release") <(echo "$all"))
  [ -z "$missing" ] || fail "not shown, and in $release: $missing"
  newest=$release  # they come sorted
done
invented=$(LC_ALL=C comm -13 <(released "$newest") <(echo "$all"))
[ -z "$invented" ] || fail "shown, and not in $newest: $invented"

# The lists are right: one of them is that of this machine's libraries, or those are of a release between.
for name in libibverbs.so.1 libefa.so.1; do
  file=$(PATH="$PATH:/sbin:/usr/sbin" ldconfig -p | awk -v name="$name" '$1 == name { print $NF; exit }')
  [ -n "$file" ] || continue
  for symbol in $(nm -D --defined-only --with-symbol-versions "$file" |
    awk '$2 != "A" && $3 ~ /@(IBVERBS|EFA)_[0-9]/ { sub("@@", "@", $3); print $3 }'); do
    grep -qxF "$symbol" <<<"$all" && continue
    grep -qxF "${symbol%@*}@IBVERBS_1.1" <<<"$all" || fail "$file has $symbol, which is not shown"
  done
done

# What the machine's own libraries take from libibverbs and libefa.
checked=0
for name in libfabric.so.1 librdmacm.so.1; do
  file=$(PATH="$PATH:/sbin:/usr/sbin" ldconfig -p | awk -v name="$name" '$1 == name { print $NF; exit }')
  if [ -z "$file" ]; then
    echo "$name is not on this machine"
    continue
  fi
  taken=$(nm -D --undefined-only --with-symbol-versions "$file" | awk '{ print $NF }' |
    grep -E '@(IBVERBS|EFA)_' | sed 's/@@/@/')
  for symbol in $taken; do
    checked=$((checked + 1))
    grep -qxF "$symbol" <<<"$all" || fail "$name takes $symbol, which is not there"
  done
done
echo "$(wc -l <<<"$all") functions shown; the machine's libraries take $checked"

# The name by which it is asked for, and nothing that it needs is missing.
readelf -d "$LIBRARY" | grep -q 'SONAME.*\[libdrydock_verbs.so\]' || fail "the library has another name"
needed=$(readelf -d "$LIBRARY" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for name in $needed; do
  # Elsewhere than on Debian 12 Abseil and the C++ library are shared (bazel/shared_library.bzl).
  case $name in
    ld-linux*.so* | lib[cm].so.6) ;;
    *) [ "$ALONE" != True ] || fail "the library needs $name, which not every system has" ;;
  esac
done
if ldd "$LIBRARY" | grep 'not found'; then fail "the library needs what is not there"; fi
newest=$(readelf -V "$LIBRARY" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -1)
if [ "$ALONE" = True ] && [ "$(printf '%s\n' "$newest" GLIBC_2.36 | sort -V | tail -1)" != GLIBC_2.36 ]; then
  fail "the library needs $newest"
fi
# A program may load it in libibverbs' place and close it again: it stays, for it has registered what runs at the end.
ln -sf "$PWD/$LIBRARY" "$folder/libibverbs.so.1"
LD_LIBRARY_PATH=$folder python3 -c '
import _ctypes, ctypes
_ctypes.dlclose(ctypes.CDLL("libibverbs.so.1")._handle)' || fail "a program that closes the library ends with $?"
# The loader says what it cannot load, and runs the program all the same.
said=$(LD_BIND_NOW=1 LD_PRELOAD="$PWD/$LIBRARY" /bin/true 2>&1) && [ -z "$said" ] || fail "the library cannot be loaded: $said"

[ "$failures" -eq 0 ]
