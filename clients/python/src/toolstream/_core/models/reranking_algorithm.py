from typing import Literal, cast

RerankingAlgorithm = Literal["auto", "multi", "off", "single"]


def check_reranking_algorithm(value: str) -> RerankingAlgorithm:
    """Returns the value: a newer server may have more values."""
    return cast(RerankingAlgorithm, value)
