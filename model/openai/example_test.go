package openai_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/modeltest/wire"
	"github.com/deepagents-go/deepagents/model/openai"
	"github.com/deepagents-go/deepagents/model/script"
)

// A local server that plays a script stands for the provider: no AI runs here.
func Example() {
	server := httptest.NewServer(wire.New(wire.Options{Model: script.New(script.Line{Text: "Hello!"})}))
	defer server.Close()
	m, err := openai.New(openai.Options{Model: "any", Provider: "local", BaseURL: server.URL + "/v1", HTTPClient: server.Client()})
	if err != nil {
		log.Fatal(err)
	}
	var a model.Accumulator
	for d, err := range m.Stream(context.Background(), &model.Request{Messages: []*message.Message{message.NewUser("Hi")}}) {
		if err != nil {
			log.Fatal(err)
		}
		a.Add(d)
	}
	fmt.Println(m.Name(), "says", a.Message().Text())
	// Output: local:any says Hello!
}
