// Command generate writes docs/metrics.md of the metrics that are declared. It is
// started in the folder internal/kit/measures.
package main

import (
	"os"

	"github.com/toolstream/toolstream/internal/kit/measures"
)

func main() {
	if err := write("../../.."); err != nil {
		panic(err)
	}
}

func write(root string) error {
	all, err := measures.Declared(root)
	if err != nil {
		return err
	}
	page, err := measures.Page(all)
	if err != nil {
		return err
	}
	return os.WriteFile(root+"/docs/metrics.md", page, 0o644)
}
