# What a package's version and dates are: those of the repository's commit.

# The time of the commit, in seconds; SOURCE_DATE_EPOCH before that, for sources without their repository.
date_of() {  # REPOSITORY
  if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then
    echo "$SOURCE_DATE_EPOCH"
  elif ! git -C "$1" log -1 --format=%ct 2>/dev/null; then
    echo "packaging: nothing tells the date: $1 is no Git repository, and SOURCE_DATE_EPOCH is not set" >&2
    return 2
  fi
}

# 0.1.0+git20261231.235959.1234567: a later commit is a later version. `.local`: with changes that are in no commit.
version_of() {  # REPOSITORY DATE
  local released commit changed=
  released=$(sed -n '/^module(/,/^)/s/^ *version = "\(.*\)",$/\1/p' "$1/MODULE.bazel" 2>/dev/null || true)
  commit=$(git -C "$1" rev-parse --short=7 HEAD 2>/dev/null || echo unknown)
  if [ -n "$(git -C "$1" status --porcelain --untracked-files=no 2>/dev/null)" ]; then changed=.local; fi
  echo "${released:-0}+git$(TZ=UTC date -d "@$2" +%Y%m%d.%H%M%S).$commit$changed"
}
