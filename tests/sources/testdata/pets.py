"""An API that describes itself: POST /operations/NAME adds an operation."""

from fastapi import FastAPI

app = FastAPI(title="Pets")


@app.get("/pets/{pet}")
def feeding_times(pet: str) -> list[str]:
    """Says when a pet is fed."""
    return [pet]


@app.post("/operations/{name}", status_code=204, include_in_schema=False)
def add(name: str) -> None:
    app.get(f"/{name}", summary="Books a grooming appointment", operation_id=name)(lambda: None)
    app.openapi_schema = None
