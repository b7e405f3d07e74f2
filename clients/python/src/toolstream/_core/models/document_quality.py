from typing import Literal

DocumentQuality = Literal["low"]

DOCUMENT_QUALITY_VALUES: set[DocumentQuality] = {
    "low",
}


def check_document_quality(value: str) -> DocumentQuality:
    if value in DOCUMENT_QUALITY_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {DOCUMENT_QUALITY_VALUES!r}"
    )
