from typing import Literal, cast

EvaluationSettingsRewrite = Literal["auto", "off"]


def check_evaluation_settings_rewrite(value: str) -> EvaluationSettingsRewrite:
    """Returns the value: a newer server may have more values."""
    return cast(EvaluationSettingsRewrite, value)
