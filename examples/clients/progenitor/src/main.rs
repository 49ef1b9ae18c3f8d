use std::env;
use std::time::Duration;

use petstore::types::{self, NewPet, Pet, PetStatus};
use petstore::{Client, Error};
use reqwest::header::{AUTHORIZATION, HeaderMap};

mod petstore {
    progenitor::generate_api!(spec = "openapi.json", interface = Builder);
}

type Refusal = Error<types::Error>;

const MAX_ATTEMPTS: u32 = 5;

fn new_client(url: &str, key: &str) -> Client {
    let mut headers = HeaderMap::new();
    let authorization = format!("Bearer {key}");
    headers.insert(AUTHORIZATION, authorization.parse().expect("a key of visible characters"));
    let http = reqwest::Client::builder().default_headers(headers).build().expect("an HTTP client");
    Client::new_with_client(url, http)
}

async fn create(client: &Client, pet: &NewPet, idempotency_key: &str) -> Result<Pet, Refusal> {
    for attempt in 1.. {
        let answer = client.create_pet().idempotency_key(idempotency_key).body(pet.clone()).send().await;
        let is_temporary = match &answer {
            Err(Error::CommunicationError(_)) => true,
            Err(Error::ErrorResponse(error)) => [429, 503].contains(&error.status().as_u16()),
            // The proxy in front got no answer from the service.
            Err(Error::UnexpectedResponse(answer)) => [502, 504].contains(&answer.status().as_u16()),
            _ => false,
        };
        if attempt == MAX_ATTEMPTS || !is_temporary {
            return answer.map(|created| created.into_inner());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    unreachable!()
}

async fn list(client: &Client) -> Result<Vec<Pet>, Refusal> {
    let mut all = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut request = client.list_pets().limit(2);
        if let Some(cursor) = cursor {
            request = request.cursor(cursor);
        }
        let page = request.send().await?;
        cursor = page.headers().get("next-cursor").and_then(|next| Some(next.to_str().ok()?.to_owned()));
        all.extend(page.into_inner().0);
        if cursor.is_none() {
            return Ok(all);
        }
    }
}

fn new_pet(name: &str, category_id: i64, status: Option<PetStatus>) -> NewPet {
    let name = name.parse().expect("a valid name");
    NewPet { name, category_id, status }
}

fn text(pet: &Pet) -> String {
    format!("{} {} {} {}", pet.id, *pet.name, pet.category_id, pet.status)
}

#[tokio::main]
async fn main() -> Result<(), Refusal> {
    let url = env::var("PETSTORE_URL").unwrap_or("http://127.0.0.1:3000/v1".into());
    let client = new_client(&url, &env::var("PETSTORE_KEY").expect("PETSTORE_KEY"));

    let pets = [
        (new_pet("Rex", i64::MAX, None), "the-key-of-rex"),
        (new_pet("Mia", 2, Some(PetStatus::Sold)), "the-key-of-mia"),
        (new_pet("Tom", 3, None), "the-key-of-tom"),
        (new_pet("Ada", 4, None), "the-key-of-ada"),
        (new_pet("Kit", 5, None), "the-key-of-kit"),
    ];
    for (pet, key) in &pets {
        println!("created {}", text(&create(&client, pet, key).await?));
    }

    for pet in list(&client).await? {
        println!("listed {}", text(&pet));
    }

    match create(&client, &new_pet("Not Kit", 5, None), "the-key-of-kit").await {
        Err(Error::ErrorResponse(error)) => println!("refused {} {} {}", error.status, error.code, error.message),
        other => panic!("{other:?}"),
    }
    Ok(())
}
