#!/bin/bash
# A compiled program runs.
set -e
directory="$(mktemp -d)"
printf '#include <stdio.h>\nint main(void) { puts("compiled"); }\n' > "$directory/main.c"
gcc "$directory/main.c" -o "$directory/main"
"$directory/main"
