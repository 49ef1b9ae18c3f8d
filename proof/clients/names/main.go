// Validates openapi.json with kin-openapi, its patterns, formats, defaults and examples included. Prints those of the
// names in names.json that the schema of a new pet accepts, as JSON.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/getkin/kin-openapi/openapi3"
)

func main() {
	document, err := openapi3.NewLoader().LoadFromFile("openapi.json")
	check(err)
	check(document.Validate(context.Background(), openapi3.EnableSchemaFormatValidation()))

	text, err := os.ReadFile("names.json")
	check(err)
	var names []string
	check(json.Unmarshal(text, &names))

	accepted := []string{}
	for _, name := range names {
		pet := map[string]any{"name": name, "categoryId": float64(7)}
		if document.Components.Schemas["NewPet"].Value.VisitJSON(pet) == nil {
			accepted = append(accepted, name)
		}
	}
	check(json.NewEncoder(os.Stdout).Encode(accepted))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
