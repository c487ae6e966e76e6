"""Calculate import duty and VAT.

Reads one JSON object from the first argument, or from standard input when there is none, and prints one JSON object.
"""

import json
import sys

CHIPS = "85423100"
CHIP_DUTY_RATE = 0.0
DUTY_RATE = 0.05
VAT_RATE = 0.13


def calculate(cif_price, hs_code):
    duty_rate = CHIP_DUTY_RATE if hs_code == CHIPS else DUTY_RATE
    duty = cif_price * duty_rate
    vat = (cif_price + duty) * VAT_RATE
    return {"duty": plain(duty), "vat": plain(vat), "total": plain(duty + vat)}


def plain(amount):
    """Write whole amounts without a fraction."""
    return int(amount) if amount == int(amount) else amount


def main():
    text = sys.argv[1] if len(sys.argv) > 1 else sys.stdin.read()
    arguments = json.loads(text)
    cif_price = arguments.get("cif_price")
    if isinstance(cif_price, bool) or not isinstance(cif_price, (int, float)) or cif_price < 0:
        sys.exit("cif_price must be a number of at least 0")
    print(json.dumps(calculate(cif_price, str(arguments.get("hs_code", "")))))


if __name__ == "__main__":
    main()
