#!/bin/bash
# Everyday programs of a shell.
set -e
tar czf letters.tgz *.fodt *.fodp
tar tzf letters.tgz | sort | xargs wc -l | awk '{ print $2 }'
find . -name '*.html' | sed 's/^/found /'
