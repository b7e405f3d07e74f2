package attack

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

func targets(n int) []Target {
	out := make([]Target, n)
	for i := range out {
		out[i] = Target{
			Query: fmt.Sprintf("Can you please book train %d to town%d for me?", i, i),
			Tool:  schema.Document{Name: fmt.Sprintf("bookTrain%d", i), Description: fmt.Sprintf("Books train %d seats. Returns a ticket.", i)},
		}
	}
	return out
}

func made(t *testing.T, f Form, n, of int) ([]Document, []Target) {
	t.Helper()
	tools, meant, err := f.Tools(rand.New(rand.NewPCG(1, 2)), targets(of), n)
	check.OK(t, err)
	return tools, meant
}

func TestEveryFormRepeatsAndFits(t *testing.T) {
	for _, kind := range Kinds() {
		if len(Forms(kind)) == 0 {
			t.Errorf("%s has no form", kind)
		}
		for _, f := range Forms(kind) {
			tools, meant := made(t, f, 8, 100)
			again, _ := made(t, f, 8, 100)
			if len(tools) != 8 || len(meant) != 8/f.Repeats || !reflect.DeepEqual(tools, again) {
				t.Errorf("%s: %d tools for %d targets", f.Name, len(tools), len(meant))
			}
			for _, d := range tools {
				if d.Name == "" || len(d.Name) > maxName || d.Description == "" || len(d.Description) > room || len(d.Examples) > maxExamples {
					t.Errorf("%s: %+v", f.Name, d)
				}
			}
		}
	}
	if _, _, err := forms[0].Tools(nil, nil, 1); err == nil {
		t.Error("tools of no target")
	}
}

func TestTextsAreWhatTheFormSays(t *testing.T) {
	form := func(name string) Form {
		return forms[slices.IndexFunc(forms, func(f Form) bool { return f.Name == name })]
	}
	for name, want := range map[string]func(Document, Target) bool{
		"description": func(d Document, m Target) bool {
			return strings.Count(d.Description, "?") > 10 && strings.HasPrefix(d.Description, m.Query)
		},
		"examples": func(d Document, m Target) bool {
			return len(d.Examples) == maxExamples && strings.HasPrefix(d.Examples[0], m.Query)
		},
		"few": func(d Document, m Target) bool {
			return strings.Count(d.Description, "?") == few && strings.HasPrefix(d.Description, m.Query)
		},
		"query": func(d Document, m Target) bool {
			return d.Description == m.Query && strings.HasPrefix(d.Name, "can_you_please_book_train_")
		},
		"keywords": func(d Document, _ Target) bool {
			return strings.Contains(d.Description, "book train") && !strings.Contains(d.Description, "please")
		},
		"answers": func(d Document, _ Target) bool {
			return strings.Count(d.Description, "Books train") > 10 && !strings.Contains(d.Description, "ticket")
		},
		"cluster": func(d Document, m Target) bool {
			return strings.HasPrefix(m.Tool.Description, d.Name) && strings.Count(d.Description, "town") == alike
		},
		"words": func(d Document, _ Target) bool { return strings.HasPrefix(d.Description, "book can me please train") },
		"near": func(d Document, m Target) bool {
			return d.Name == m.Tool.Name && strings.HasSuffix(d.Description, m.Tool.Description) && d.Description != m.Tool.Description
		},
		"asked": func(d Document, m Target) bool {
			return d.Name == m.Tool.Name && strings.HasSuffix(d.Description, m.Tool.Description+" "+m.Query)
		},
		"name": func(d Document, m Target) bool {
			return d.Name == m.Tool.Name && strings.HasPrefix(d.Description, "The official")
		},
	} {
		if tools, meant := made(t, form(name), 4, 100); !want(tools[0], meant[0]) {
			t.Errorf("%s: %+v for %+v", name, tools[0], meant[0])
		}
	}
}
