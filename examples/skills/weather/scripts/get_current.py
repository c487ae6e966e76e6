"""The weather of a city now."""

import argparse
import json
import os
import sys
from pathlib import Path


def default_city():
    return json.loads(os.environ.get("SKILL_INPUT", "{}")).get("city")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--city", default=default_city(), help="name of the city")
    city = parser.parse_args().city
    cities = json.loads((Path(os.environ["SKILL_ASSETS_DIR"]) / "weather.json").read_text(encoding="utf-8"))
    if city not in cities:
        sys.exit(f"unknown city {city!r}; known are {', '.join(sorted(cities))}")
    now = dict(cities[city]["current"], city=city)
    if os.environ.get("WEATHER_UNITS") == "imperial":
        now["fahrenheit"] = round(now.pop("celsius") * 9 / 5 + 32, 1)
    print(json.dumps(now, ensure_ascii=False))


if __name__ == "__main__":
    main()
