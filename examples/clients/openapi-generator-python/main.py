import os
import time
from collections.abc import Iterator
from uuid import uuid4

from petstore_client import AnimalsApi, ApiClient, Configuration, NewPet, Pet, PetStatus
from petstore_client.exceptions import ApiException
from petstore_client.models.error import Error
from urllib3.exceptions import HTTPError

MAX_ATTEMPTS = 5

configuration = Configuration(
    host=os.environ.get("PETSTORE_URL", "http://127.0.0.1:3000/v1"),
    access_token=os.environ["PETSTORE_KEY"],
)
api = AnimalsApi(ApiClient(configuration))


def create(pet: NewPet, idempotency_key: str | None = None) -> Pet:
    key = idempotency_key or str(uuid4())
    for attempt in range(1, MAX_ATTEMPTS):
        try:
            return api.create_pet(pet, idempotency_key=key)
        except HTTPError:
            # No answer came.
            time.sleep(1)
        except ApiException as refused:
            if refused.status not in (429, 502, 503, 504):
                raise
            time.sleep(1)
    return api.create_pet(pet, idempotency_key=key)


def list_all() -> Iterator[Pet]:
    cursor: str | None = None
    while True:
        page = api.list_pets_with_http_info(limit=2, cursor=cursor)
        yield from page.data
        cursor = (page.headers or {}).get("Next-Cursor")
        if cursor is None:
            return


def text(pet: Pet) -> str:
    return f"{pet.id} {pet.name} {pet.category_id} {pet.status.value}"


print("created", text(create(NewPet(name="Rex", categoryId=9223372036854775807))))
print("created", text(create(NewPet(name="Mia", categoryId=2, status=PetStatus.SOLD))))
print("created", text(create(NewPet(name="Tom", categoryId=3))))
print("created", text(create(NewPet(name="Ada", categoryId=4))))
print("created", text(create(NewPet(name="Kit", categoryId=5), "the-key-of-kit")))

for pet in list_all():
    print("listed", text(pet))

try:
    create(NewPet(name="Not Kit", categoryId=5), "the-key-of-kit")
except ApiException as refused:
    error = refused.data
    assert isinstance(error, Error)
    print("refused", error.status, error.code, error.message)
