"""The cities that are known."""

import json
import os
from pathlib import Path

if __name__ == "__main__":
    text = (Path(os.environ["SKILL_ASSETS_DIR"]) / "weather.json").read_text(encoding="utf-8")
    print(json.dumps({"cities": sorted(json.loads(text))}))
