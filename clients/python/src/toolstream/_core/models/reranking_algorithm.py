from typing import Literal

RerankingAlgorithm = Literal["auto", "multi", "off", "single"]

RERANKING_ALGORITHM_VALUES: set[RerankingAlgorithm] = {
    "auto",
    "multi",
    "off",
    "single",
}


def check_reranking_algorithm(value: str) -> RerankingAlgorithm:
    if value in RERANKING_ALGORITHM_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {RERANKING_ALGORITHM_VALUES!r}"
    )
