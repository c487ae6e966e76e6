#!/bin/sh
# Stands in for `sandbox-exec -f PROFILE -D NAME=PATH … -- PROGRAM …`: writes down what it was given, then behaves as the test says.
base=$(dirname "$(dirname "$2")")
echo run >> "$base/record/runs"
printf '%s\n' "$@" > "$base/record/arguments"
env > "$base/record/environment"
pwd -P > "$base/record/directory"
cat "$2" > "$base/record/profile"
ls -l "$2" > "$base/record/mode"
while [ "$1" != -- ]; do shift; done
shift
. "$base/behaviour"
