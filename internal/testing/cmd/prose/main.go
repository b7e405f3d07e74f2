// Command prose counts phrases that a native reader stumbles over, in comments, strings
// and pages. It fails if a count is above its budget, which only goes down:
//
//	go run ./internal/testing/cmd/prose                  check, as make lint does
//	go run ./internal/testing/cmd/prose -list all PATH…  print the places
//	go run ./internal/testing/cmd/prose -update          lower the budget to the present counts
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A pattern is a phrase to avoid. CONTRIBUTING.md says what to write instead.
type pattern struct {
	name   string
	phrase *regexp.Regexp
}

var patterns = []pattern{
	{"headless what", regexp.MustCompile(`(?i)\b(what|who) (is|it|they|was|are|were|a|an|has)\b`)},
	{"those that", regexp.MustCompile(`(?i)\b(those|that|one|ones|all|what|him) (that|of|which) (is|are|it|they|has|have|was|were|a|an|the|no|what|all)\b|\bthose (that|of|in|which|who)\b`)},
	{"lies, stands", regexp.MustCompile(`(?i)\b(lie|lies|lay|stand|stands|stood) (in|at|on|behind|before|after|beside|between|there|for|by|with|under|above|alone)\b`)},
	{"by which", regexp.MustCompile(`(?i)\b(of|by|in|from|with|to|for|on|at) (which|whom|what)\b`)},
	{"where for if", regexp.MustCompile(`(?i)\bwhere (there|nothing|no|none|nobody|it|that|this|they|one|a|an|some|something|not|only)\b`)},
	{"beside, but for, anew, let", regexp.MustCompile(`(?i)\bbeside\b|\bbut for\b|\banew\b|\b(let|lets) (a|an|the|it|them|in|through|go|one)\b`)},
	{"is none, is no", regexp.MustCompile(`(?i)\b(is|are|was|were) (none|no [a-z]+)\b|\b(some|no|every)body\b|\bwhoever\b|\bis meant\b`)},
}

const budgetFile = "internal/testing/cmd/prose/budget.json"

func main() {
	list := flag.String("list", "", "print the places of the pattern of this `NAME`, or of all")
	update := flag.Bool("update", false, "lower the budget to the present counts")
	flag.Parse()
	places, err := find(flag.Args())
	if err == nil {
		err = report(places, *list, *update)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
}

// A place is a line with a phrase to avoid.
type place struct {
	pattern, file string
	line          int
	text          string
}

func report(places []place, list string, update bool) error {
	if list != "" {
		for _, p := range places {
			if list == "all" || list == p.pattern {
				fmt.Printf("%s:%d: [%s] %s\n", p.file, p.line, p.pattern, p.text)
			}
		}
		return nil
	}
	counts, budget := map[string]int{}, map[string]int{}
	for _, p := range places {
		counts[p.pattern]++
	}
	text, err := os.ReadFile(budgetFile)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &budget); err != nil {
		return fmt.Errorf("%s: %w", budgetFile, err)
	}
	var above []string
	for _, p := range patterns {
		fmt.Printf("%5d of %5d  %s\n", counts[p.name], budget[p.name], p.name)
		if counts[p.name] > budget[p.name] {
			above = append(above, p.name)
		}
		budget[p.name] = min(budget[p.name], counts[p.name])
	}
	if len(above) > 0 {
		return fmt.Errorf("more than the budget of %s: reword what the change adds; -list %q prints the places", strings.Join(above, "; "), above[0])
	}
	if !update {
		return nil
	}
	text, err = json.MarshalIndent(budget, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(budgetFile, append(text, '\n'), 0o644)
}

// find lists the places below the folders and files of paths, or of the module.
func find(paths []string) ([]place, error) {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	var out []place
	for _, root := range paths {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (slices.Contains([]string{".git", "node_modules", "testdata", "dist", "decisions", "bin"}, d.Name()) || path == "internal/testing/cmd/prose") {
				return filepath.SkipDir
			}
			if d.IsDir() || strings.HasSuffix(path, "_test.go") || filepath.Ext(path) != ".go" && filepath.Ext(path) != ".md" {
				return nil
			}
			text, err := os.ReadFile(path)
			if filepath.Ext(path) == ".go" {
				text = prose(text)
			}
			for i, line := range strings.Split(string(text), "\n") {
				line = strings.TrimSpace(line) // most of a Go file is blank
				for _, p := range patterns {
					for range p.phrase.FindAllString(line, -1) {
						out = append(out, place{p.name, path, i + 1, line})
					}
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// prose blanks the code of a Go file: comments and strings stay, on their lines.
func prose(src []byte) []byte {
	var s scanner.Scanner
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(src))
	s.Init(file, src, nil, scanner.ScanComments)
	out := slices.Repeat([]byte{' '}, len(src))
	for i, c := range src {
		if c == '\n' {
			out[i] = '\n'
		}
	}
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return out
		}
		if tok == token.COMMENT || tok == token.STRING {
			copy(out[file.Offset(pos):], text)
		}
	}
}
