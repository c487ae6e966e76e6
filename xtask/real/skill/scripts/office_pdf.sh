#!/bin/bash
# A letter becomes a PDF.
set -e
soffice --headless --convert-to pdf letter.fodt > /dev/null
head -c 5 letter.pdf
echo
pdftotext letter.pdf - | head -1
