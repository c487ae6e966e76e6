#!/bin/bash
# A browser runs the script of a page.
chromium --headless --no-sandbox --dump-dom "file://$PWD/page.html" 2> /dev/null | grep -o '6 times 7 is [0-9]*'
