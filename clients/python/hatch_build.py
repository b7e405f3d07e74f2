"""Makes toolstream._core from the OpenAPI document, whenever the package is built or installed from a checkout."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).parent
CORE = HERE / "src" / "toolstream" / "_core"


def generate() -> Path:
    """Writes the package _core and returns the document that it is made from: the copy of a source distribution, or the checkout's."""
    document = next(path for path in (HERE / "openapi.json", HERE.parents[1] / "api" / "openapi.json") if path.exists())
    shutil.rmtree(CORE, ignore_errors=True)
    options = ["--meta", "none", "--config", HERE / "generator.yaml", "--custom-template-path", HERE / "templates", "--output-path", CORE]
    subprocess.run([sys.executable, "-m", "openapi_python_client", "generate", "--path", document, *options], check=True)
    return document


class Hook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        document = generate()
        build_data["artifacts"].append("src/toolstream/_core")
        if self.target_name == "sdist":
            build_data["force_include"][str(document)] = "openapi.json"


if __name__ == "__main__":
    generate()
