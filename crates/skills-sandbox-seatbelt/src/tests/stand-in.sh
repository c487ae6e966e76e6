#!/bin/sh
# Stub for `sandbox-exec -f PROFILE -D NAME=PATH … -- PROGRAM …`: records its input, then runs the behavior of the test.
base=$(dirname "$(dirname "$2")")
echo run >> "$base/record/runs"
printf '%s\n' "$@" > "$base/record/arguments"
env > "$base/record/environment"
pwd -P > "$base/record/directory"
cat "$2" > "$base/record/profile"
ls -l "$2" > "$base/record/mode"
while [ "$1" != -- ]; do shift; done
shift
. "$base/behavior"
