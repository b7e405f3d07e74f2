from typing import Literal, cast

EvaluationSettingsRerank = Literal["auto", "multi", "off", "single"]


def check_evaluation_settings_rerank(value: str) -> EvaluationSettingsRerank:
    """Returns the value: a newer server may have more values."""
    return cast(EvaluationSettingsRerank, value)
