"""Greatest common divisor and least common multiple of whole numbers."""

import argparse
import json
import math


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("numbers", type=int, nargs="+", help="two or more whole numbers")
    given = parser.parse_args()
    if len(given.numbers) < 2:
        parser.error("at least two numbers are needed")
    gcd, lcm = math.gcd(*given.numbers), math.lcm(*given.numbers)
    if given.json:
        print(json.dumps({"gcd": gcd, "lcm": lcm}))
    else:
        print(f"gcd {gcd}\nlcm {lcm}")


if __name__ == "__main__":
    main()
