#!/bin/bash
# Slides become pictures.
set -e
soffice --headless --convert-to pptx slides.fodp > /dev/null
soffice --headless --convert-to pdf slides.pptx > /dev/null
pdftoppm -png -r 40 slides.pdf slide
ls slide-*.png
