"""The forecast of a city for up to three days."""

import argparse
import json
import os
import sys
from pathlib import Path


def main():
    given = json.loads(os.environ.get("SKILL_INPUT", "{}"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--city", default=given.get("city"), help="name of the city")
    parser.add_argument("--days", type=int, default=given.get("days", 3), choices=[1, 2, 3], help="how many days")
    arguments = parser.parse_args()
    cities = json.loads((Path(os.environ["SKILL_ASSETS_DIR"]) / "weather.json").read_text(encoding="utf-8"))
    if arguments.city not in cities:
        sys.exit(f"unknown city {arguments.city!r}; known are {', '.join(sorted(cities))}")
    print(json.dumps({"city": arguments.city, "forecast": cities[arguments.city]["forecast"][: arguments.days]}))


if __name__ == "__main__":
    main()
