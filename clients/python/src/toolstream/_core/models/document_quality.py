from typing import Literal, cast

DocumentQuality = Literal["low"]


def check_document_quality(value: str) -> DocumentQuality:
    """Returns the value: a newer server may have more values."""
    return cast(DocumentQuality, value)
