from typing import Literal, cast

FindingAbout = Literal["dead_letters", "quarantine", "source", "weights"]


def check_finding_about(value: str) -> FindingAbout:
    """Returns the value: a newer server may have more values."""
    return cast(FindingAbout, value)
