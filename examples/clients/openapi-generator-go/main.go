package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"time"

	"example.com/petstore-example/petstore"
)

const maxAttempts = 5

func create(
	ctx context.Context, api *petstore.AnimalsAPIService, pet petstore.PetToAdd, key string,
) (*petstore.Pet, error) {
	for attempt := 1; ; attempt++ {
		created, response, err := api.CreatePet(ctx).PetToAdd(pet).IdempotencyKey(key).Execute()
		isTemporary := response == nil || response.StatusCode == 429 || response.StatusCode >= 502
		if err == nil || attempt == maxAttempts || !isTemporary {
			return created, err
		}
		time.Sleep(time.Second)
	}
}

func list(ctx context.Context, api *petstore.AnimalsAPIService) ([]petstore.Pet, error) {
	var all []petstore.Pet
	request := api.ListPets(ctx).Limit(2)
	for {
		page, response, err := request.Execute()
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		next := response.Header.Get("Next-Cursor")
		if next == "" {
			return all, nil
		}
		request = request.Cursor(next)
	}
}

func text(pet petstore.Pet) string {
	return fmt.Sprintf("%d %s %d %s", pet.Id, pet.Name, pet.CategoryId, pet.Status)
}

func main() {
	configuration := petstore.NewConfiguration()
	configuration.Servers[0].URL = cmp.Or(os.Getenv("PETSTORE_URL"), "http://127.0.0.1:3000/v1")
	api := petstore.NewAPIClient(configuration).AnimalsAPI
	ctx := context.WithValue(context.Background(), petstore.ContextAccessToken, os.Getenv("PETSTORE_KEY"))

	mia := petstore.NewPetToAdd("Mia", 2)
	mia.SetStatus(petstore.SOLD)
	for _, draft := range []struct {
		pet *petstore.PetToAdd
		key string
	}{
		{petstore.NewPetToAdd("Rex", math.MaxInt64), rand.Text()},
		{mia, rand.Text()},
		{petstore.NewPetToAdd("Tom", 3), rand.Text()},
		{petstore.NewPetToAdd("Ada", 4), rand.Text()},
		{petstore.NewPetToAdd("Kit", 5), "the-key-of-kit"},
	} {
		pet, err := create(ctx, api, *draft.pet, draft.key)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("created", text(*pet))
	}

	pets, err := list(ctx, api)
	if err != nil {
		log.Fatal(err)
	}
	for _, pet := range pets {
		fmt.Println("listed", text(pet))
	}

	_, err = create(ctx, api, *petstore.NewPetToAdd("Not Kit", 5), "the-key-of-kit")
	var failure *petstore.GenericOpenAPIError
	if !errors.As(err, &failure) {
		log.Fatal(err)
	}
	answer := failure.Model().(petstore.Error)
	fmt.Println("refused", answer.Status, answer.Code, answer.Message)
}
