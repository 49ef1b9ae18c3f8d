import os
import time
from collections.abc import Iterator
from uuid import uuid4

import httpx
from petstore_client import AuthenticatedClient
from petstore_client.api.animals import create_pet, list_pets
from petstore_client.models import Error, NewPet, Pet, PetStatus
from petstore_client.types import UNSET, Unset

MAX_ATTEMPTS = 5
PAGE_SIZE = 2  # Small, to see pages. At most 100.

client = AuthenticatedClient(
    base_url=os.environ.get("PETSTORE_URL", "http://127.0.0.1:3000/v1"),
    token=os.environ["PETSTORE_KEY"],
)


class Refused(Exception):
    """An answer of the service that is an error."""

    def __init__(self, error: Error) -> None:
        super().__init__(f"{error.status} {error.code} {error.message}")
        self.error = error


def create(pet: NewPet, idempotency_key: str | None = None) -> Pet:
    """Adds an animal. Sends the same key with every attempt: the service adds one animal, however often it is asked."""
    key = idempotency_key or str(uuid4())
    for attempt in range(1, MAX_ATTEMPTS + 1):
        seconds = 1
        try:
            answer = create_pet.sync_detailed(client=client, body=pet, idempotency_key=key)
        except httpx.TransportError:
            # No answer came.
            if attempt == MAX_ATTEMPTS:
                raise
        else:
            if isinstance(answer.parsed, Pet):
                return answer.parsed
            if answer.status_code not in (429, 502, 503, 504) or attempt == MAX_ATTEMPTS:
                assert isinstance(answer.parsed, Error)
                raise Refused(answer.parsed)
            seconds = int(answer.headers.get("Retry-After", "1"))
        time.sleep(seconds)
    raise AssertionError("unreachable")


def list_all(status: PetStatus | Unset = UNSET) -> Iterator[Pet]:
    """Every animal, in ascending order of id."""
    cursor: str | Unset | None = UNSET
    while cursor is not None:
        answer = list_pets.sync_detailed(client=client, limit=PAGE_SIZE, status=status, cursor=cursor)
        if isinstance(answer.parsed, Error):
            raise Refused(answer.parsed)
        assert answer.parsed is not None
        yield from answer.parsed
        cursor = answer.headers.get("Next-Cursor")


def text(pet: Pet) -> str:
    return f"{pet.id} {pet.name} {pet.category_id} {pet.status.value}"


# An int of Python holds every int64.
print("created", text(create(NewPet(name="Rex", category_id=9223372036854775807))))
print("created", text(create(NewPet(name="Mia", category_id=2, status=PetStatus.SOLD))))
print("created", text(create(NewPet(name="Tom", category_id=3))))
print("created", text(create(NewPet(name="Ada", category_id=4))))
print("created", text(create(NewPet(name="Kit", category_id=5), "the-key-of-kit")))

for pet in list_all():
    print("listed", text(pet))

try:
    create(NewPet(name="Not Kit", category_id=5), "the-key-of-kit")
except Refused as refused:
    print("refused", refused.error.status, refused.error.code, refused.error.message)
