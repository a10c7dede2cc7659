# What is in each package: `stage PACKAGE FOLDER VERSION DATE` lays it under a prefix, with bin, lib, include and share.

# Installs $2 as $3, or all files behind $2 in it, with the rights $1; `install` follows Bazel's links and forgets its write protection.
put() { install -D -m "$1" "$2" "$3"; }
put_all() { install -D -m "$1" -t "$2" "${@:3}"; }

strip_into() {  # FILE PLACE
  put 755 "$1" "$2"
  strip --strip-unneeded "$2"
}

programs() { grep -v '^#' packaging/programs.txt; }

# Manual pages: the --help of the programs.
stage_manuals() {  # FOLDER DATE VERSION PROGRAM...
  local page
  mkdir -p "$1/share/man/man1"
  while [ $# -gt 3 ]; do
    page=drydock-$4
    [ "$4" != efa-run ] || page=efa-run
    [ "$4" != drydock ] || page=drydock
    packaging/drydock.sh "$4" --help | packaging/manual.sh "$page" "$2" "$3" | gzip -n -9 >"$1/share/man/man1/$page.1.gz"
    set -- "$1" "$2" "$3" "${@:5}"
  done
}

stage_documents() {  # FOLDER PACKAGE FILE...
  local folder=$1/share/doc/$2
  put 644 packaging/copyright.txt "$folder/copyright"
  put_all 644 "$folder" "${@:3}"
}

stage() {  # PACKAGE FOLDER VERSION DATE
  mkdir -p "$2"
  "stage_${1//-/_}" "$2" "$3" "$4"
}

stage_drydock_efa_run() {  # FOLDER VERSION DATE
  local file
  for file in sim/verbs/{efa-run,libdrydock_verbs.so} sim/virtual_time/libdrydock_time.so; do
    strip_into "$file" "$1/lib/drydock/${file##*/}"
  done
  mkdir -p "$1/bin"
  ln -s ../lib/drydock/efa-run "$1/bin/efa-run"
  put_all 644 "$1/share/drydock/plans" packaging/plans/*.json
  stage_documents "$1" drydock-efa-run README.md CHANGELOG.md
  # At their places below the README: programs of all packages name docs/faults.md and others.
  put_all 644 "$1/share/doc/drydock-efa-run/docs" docs/*.md
  stage_manuals "$1" "$3" "$2" efa-run
}

stage_drydock() {  # FOLDER VERSION DATE
  local command folder target summary commands=()
  while IFS='|' read -r command folder target summary; do
    commands+=("$command")
    [ "$command" != efa-run ] || continue
    strip_into "$folder/$target" "$1/lib/drydock/$command"
  done < <(programs)
  put 755 packaging/drydock.sh "$1/lib/drydock/drydock"
  put 755 packaging/completion.sh "$1/lib/drydock/completion.sh"
  put 644 packaging/programs.txt "$1/lib/drydock/programs.txt"
  echo "$2" >"$1/lib/drydock/version.txt"
  mkdir -p "$1/bin" "$1/share/bash-completion/completions" "$1/share/zsh/vendor-completions"
  ln -s ../lib/drydock/drydock "$1/bin/drydock"
  packaging/drydock.sh completion bash >"$1/share/bash-completion/completions/drydock"
  ln -s drydock "$1/share/bash-completion/completions/efa-run"
  packaging/drydock.sh completion zsh >"$1/share/zsh/vendor-completions/_drydock"
  stage_documents "$1" drydock apps/README.md
  stage_manuals "$1" "$3" "$2" drydock "${commands[@]:1}"
  ln -s efa-run.1.gz "$1/share/man/man1/drydock-efa-run.1.gz"
}

# Copies files of this folder to their places under FOLDER, with the rights of new files.
copy_tree() {  # FOLDER <FILES
  mkdir -p "$1"
  xargs cp -L --parents --no-preserve=mode -t "$1"
}

# The machine's Abseil, whose archives are in ours: a program has to see the headers that belong to them.
stage_abseil() {  # FOLDER
  local folder
  folder=$(echo '#include "absl/base/config.h"' | "${CXX:-g++}" -E -x c++ - | sed -n 's,^# 1 "\(.*\)/absl/base/config\.h".*,\1,p' | head -n 1)
  [ -d "$folder/absl" ] || die "Abseil's headers are not there: run ./bazelw, which installs libabsl-dev"
  (cd "$folder" && find absl/ -name '*.h' -o -name '*.inc' | copy_tree "$1")
}

stage_libdrydock_dev() {  # FOLDER VERSION DATE
  local file include=$1/include/drydock
  for file in libdrydock.a libdrydock_libfabric.a; do
    put 644 "packaging/develop/$file" "$1/lib/$file"
    strip --strip-debug --enable-deterministic-archives "$1/lib/$file"
  done
  find -L coro fabric sim testing -type d -name _include | while read -r file; do
    (cd "$file" && find -L drydock -type f | copy_tree "$include")
  done
  find -L testing/harness -name '*.cc' | copy_tree "$include/drydock"
  put 644 packaging/develop/seed_tests.cc "$include/seed_tests.cc"
  stage_abseil "$include"
  for file in drydock drydock-libfabric drydock-seed-test; do
    sed "s/@VERSION@/$2/" "packaging/develop/$file.pc" | put 644 /dev/stdin "$1/lib/pkgconfig/$file.pc"
  done
  put 644 packaging/develop/drydock-config.cmake "$1/lib/cmake/drydock/drydock-config.cmake"
  sed "s/@VERSION@/$2/" packaging/develop/drydock-config-version.cmake |
    put 644 /dev/stdin "$1/lib/cmake/drydock/drydock-config-version.cmake"
  stage_documents "$1" libdrydock-dev docs/tutorial.md docs/testing.md testing/harness/README.md
}

stage_python3_drydock() {  # FOLDER VERSION DATE
  local to=$1/lib/python3/dist-packages
  put_all 644 "$to/drydock" python/drydock/*.py
  sed "s/@VERSION@/$2/" python/metadata.txt | put 644 /dev/stdin "$to/drydock-$2.dist-info/METADATA"
  put 644 python/entry_points.txt "$to/drydock-$2.dist-info/entry_points.txt"
  stage_documents "$1" python3-drydock docs/packages.md
}
