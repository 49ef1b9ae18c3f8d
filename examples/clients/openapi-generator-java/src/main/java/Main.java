import java.io.IOException;
import java.net.http.HttpClient;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import petstore.AnimalsApi;
import petstore.ApiClient;
import petstore.ApiException;
import petstore.ApiResponse;
import petstore.Error;
import petstore.NewPet;
import petstore.Pet;
import petstore.PetStatus;

public final class Main {
  private static final int MAX_ATTEMPTS = 5;
  private static final int PAGE_SIZE = 2; // Small, to see pages. At most 100.

  /** Code 0: no answer came. 502 and 504: a proxy got no answer from the service. */
  private static final Set<Integer> TEMPORARY = Set.of(0, 429, 502, 503, 504);

  private final ApiClient client = new ApiClient();
  private final AnimalsApi api;

  private Main(String url, String key) {
    // By default it offers HTTP/2 with every request on plain HTTP, and the answer then ends the connection.
    client.setHttpClientBuilder(HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1));
    client.updateBaseUri(url);
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + key));
    api = new AnimalsApi(client);
  }

  /**
   * Adds an animal. Sends the same key with every attempt: the service adds one animal, however often
   * it is asked.
   */
  private Pet create(NewPet pet, String idempotencyKey) throws ApiException, InterruptedException {
    for (int attempt = 1; ; attempt++) {
      try {
        return api.createPet(pet, idempotencyKey);
      } catch (ApiException e) {
        if (attempt == MAX_ATTEMPTS || !TEMPORARY.contains(e.getCode())) {
          throw e;
        }
        Thread.sleep(1000L * secondsToWait(e));
      }
    }
  }

  private static long secondsToWait(ApiException e) {
    return Optional.ofNullable(e.getResponseHeaders())
        .map(headers -> headers.firstValueAsLong("Retry-After").orElse(1))
        .orElse(1L);
  }

  /** Every animal, in ascending order of id. Without a status, all of them. */
  private List<Pet> list(PetStatus status) throws ApiException {
    List<Pet> all = new ArrayList<>();
    String cursor = null;
    do {
      ApiResponse<List<Pet>> page = api.listPetsWithHttpInfo(PAGE_SIZE, status, cursor);
      all.addAll(page.getData());
      List<String> next = page.getHeaders().get("next-cursor");
      cursor = next == null ? null : next.get(0);
    } while (cursor != null);
    return all;
  }

  private Error error(ApiException e) throws IOException {
    return client.getObjectMapper().readValue(e.getResponseBody(), Error.class);
  }

  private static String text(Pet pet) {
    return "%d %s %d %s".formatted(pet.getId(), pet.getName(), pet.getCategoryId(), pet.getStatus());
  }

  private static String newKey() {
    return UUID.randomUUID().toString();
  }

  public static void main(String[] arguments) throws Exception {
    String url = System.getenv().getOrDefault("PETSTORE_URL", "http://127.0.0.1:3000/v1");
    Main petstore = new Main(url, System.getenv("PETSTORE_KEY"));

    // A long holds every int64.
    NewPet rex = new NewPet().name("Rex").categoryId(Long.MAX_VALUE);
    NewPet mia = new NewPet().name("Mia").categoryId(2L).status(PetStatus.SOLD);
    NewPet tom = new NewPet().name("Tom").categoryId(3L);
    NewPet ada = new NewPet().name("Ada").categoryId(4L);
    NewPet kit = new NewPet().name("Kit").categoryId(5L);
    for (NewPet pet : List.of(rex, mia, tom, ada)) {
      System.out.println("created " + text(petstore.create(pet, newKey())));
    }
    System.out.println("created " + text(petstore.create(kit, "the-key-of-kit")));

    for (Pet pet : petstore.list(null)) {
      System.out.println("listed " + text(pet));
    }

    try {
      petstore.create(new NewPet().name("Not Kit").categoryId(5L), "the-key-of-kit");
    } catch (ApiException e) {
      Error error = petstore.error(e);
      System.out.println("refused %d %s %s".formatted(error.getStatus(), error.getCode(), error.getMessage()));
    }
  }
}
