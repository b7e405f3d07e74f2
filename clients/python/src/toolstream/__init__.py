"""Client of toolstream."""

from ._core.models.hit import Hit
from ._core.models.search_response import SearchResponse
from .client import AsyncToolstream, Found, Problem, Toolstream

__all__ = ["AsyncToolstream", "Found", "Hit", "Problem", "SearchResponse", "Toolstream"]
