"""Fills in the fields of a PDF form."""
import sys

from pypdf import PdfReader, PdfWriter

form, output, *pairs = sys.argv[1:]
writer = PdfWriter(clone_from=PdfReader(form))
values = dict(pair.split("=", 1) for pair in pairs)
for page in writer.pages:
    writer.update_page_form_field_values(page, values)
writer.write(output)
print("filled in:", ", ".join(values))
