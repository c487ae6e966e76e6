"""A spreadsheet gets the values of its formulas."""

import subprocess

from openpyxl import Workbook, load_workbook

book = Workbook()
sheet = book.active
for row, value in enumerate((1, 2, 39), start=1):
    sheet.cell(row=row, column=1, value=value)
sheet["A4"] = "=SUM(A1:A3)"
book.save("sum.xlsx")
subprocess.run(
    ["soffice", "--headless", "--convert-to", "xlsx", "--outdir", "out", "sum.xlsx"],
    check=True,
    stdout=subprocess.DEVNULL,
)
print(load_workbook("out/sum.xlsx", data_only=True).active["A4"].value)
