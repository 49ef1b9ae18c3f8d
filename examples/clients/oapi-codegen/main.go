package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log"
	"math"
	"net/http"
	"os"
	"strconv"
	"time"

	"example.com/petstore-example/petstore"
)

const (
	maxAttempts = 5
	pageSize    = 2 // Small, to see pages. At most 100.
)

// Refused is an answer of the service that is an error.
type Refused struct{ Answer petstore.Error }

func (r Refused) Error() string {
	return fmt.Sprintf("%d %s %s", r.Answer.Status, r.Answer.Code, r.Answer.Message)
}

func refused(body []byte) error {
	var answer petstore.Error
	if err := json.Unmarshal(body, &answer); err != nil {
		return err
	}
	return Refused{answer}
}

type client struct{ api *petstore.ClientWithResponses }

func newClient(url, key string) (client, error) {
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+key)
		return nil
	}
	api, err := petstore.NewClientWithResponses(url, petstore.WithRequestEditorFn(authorize))
	return client{api}, err
}

// create adds an animal. It sends the same key with every attempt: the service adds one animal, however often it is
// asked.
func (c client) create(ctx context.Context, pet petstore.NewPet, idempotencyKey string) (*petstore.Pet, error) {
	params := &petstore.CreatePetParams{IdempotencyKey: &idempotencyKey}
	for attempt := 1; ; attempt++ {
		wait := time.Second
		answer, err := c.api.CreatePetWithResponse(ctx, params, pet)
		if err == nil {
			if answer.JSON201 != nil {
				return answer.JSON201, nil
			}
			err = refused(answer.Body)
			if code := answer.StatusCode(); code != http.StatusTooManyRequests && code < http.StatusBadGateway {
				return nil, err
			}
			if seconds, notGiven := strconv.Atoi(answer.HTTPResponse.Header.Get("Retry-After")); notGiven == nil {
				wait = time.Duration(seconds) * time.Second
			}
		}
		if attempt == maxAttempts {
			return nil, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// list yields every animal, in ascending order of id. Without a status it yields all.
func (c client) list(ctx context.Context, status *petstore.PetStatus) iter.Seq2[petstore.Pet, error] {
	return func(yield func(petstore.Pet, error) bool) {
		limit := pageSize
		params := &petstore.ListPetsParams{Limit: &limit, Status: status}
		for {
			answer, err := c.api.ListPetsWithResponse(ctx, params)
			if err == nil && answer.JSON200 == nil {
				err = refused(answer.Body)
			}
			if err != nil {
				yield(petstore.Pet{}, err)
				return
			}
			for _, pet := range *answer.JSON200 {
				if !yield(pet, nil) {
					return
				}
			}
			next := answer.HTTPResponse.Header.Get("Next-Cursor")
			if next == "" {
				return
			}
			params.Cursor = &next
		}
	}
}

func text(pet petstore.Pet) string {
	return fmt.Sprintf("%d %s %d %s", pet.Id, pet.Name, pet.CategoryId, pet.Status)
}

func main() {
	ctx := context.Background()
	url := cmp.Or(os.Getenv("PETSTORE_URL"), "http://127.0.0.1:3000/v1")
	petstoreClient, err := newClient(url, os.Getenv("PETSTORE_KEY"))
	if err != nil {
		log.Fatal(err)
	}

	sold := petstore.Sold
	for _, draft := range []struct {
		pet petstore.NewPet
		key string
	}{
		{petstore.NewPet{Name: "Rex", CategoryId: math.MaxInt64}, rand.Text()},
		{petstore.NewPet{Name: "Mia", CategoryId: 2, Status: &sold}, rand.Text()},
		{petstore.NewPet{Name: "Tom", CategoryId: 3}, rand.Text()},
		{petstore.NewPet{Name: "Ada", CategoryId: 4}, rand.Text()},
		{petstore.NewPet{Name: "Kit", CategoryId: 5}, "the-key-of-kit"},
	} {
		pet, err := petstoreClient.create(ctx, draft.pet, draft.key)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("created", text(*pet))
	}

	for pet, err := range petstoreClient.list(ctx, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("listed", text(pet))
	}

	_, err = petstoreClient.create(ctx, petstore.NewPet{Name: "Not Kit", CategoryId: 5}, "the-key-of-kit")
	var refused Refused
	if !errors.As(err, &refused) {
		log.Fatal(err)
	}
	fmt.Println("refused", refused.Answer.Status, refused.Answer.Code, refused.Answer.Message)
}
