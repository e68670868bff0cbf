package state_test

import (
	"fmt"
	"slices"

	"github.com/deepagents-go/deepagents/state"
)

// A key folds updates into a value. Its reducer is associative and never changes what it is given.
func ExampleNewKey() {
	notes := state.NewKey("notes", func(v, add []string) ([]string, error) { return append(slices.Clip(v), add...), nil }, state.Options{})
	schema, err := state.NewSchema(notes.Field(), state.Messages.Field())
	if err != nil {
		panic(err)
	}
	s, err := schema.New().Apply(notes.Update([]string{"read the issue"}), notes.Update([]string{"ran the tests"}))
	if err != nil {
		panic(err)
	}
	fmt.Println(len(notes.In(s)), notes.In(s)[1])
	raw, err := s.Encode()
	if err != nil {
		panic(err)
	}
	fmt.Println(string(raw))
	// Output:
	// 2 ran the tests
	// {"v":1,"values":{"notes":["read the issue","ran the tests"]}}
}

// A transaction reads what it wrote; its owner applies the updates later, in its place in the step.
func ExampleTx_Change() {
	count := state.Last[int]("count", state.Options{})
	schema, err := state.NewSchema(count.Field())
	if err != nil {
		panic(err)
	}
	tx := state.NewTx(schema.New())
	for range 3 {
		err := tx.Change(func(s state.State) ([]state.Update, error) {
			return []state.Update{count.Update(count.In(s) + 1)}, nil
		})
		if err != nil {
			panic(err)
		}
	}
	fmt.Println(count.Get(tx), len(tx.Close()))
	// Output: 3 3
}
