package distill

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// sense is one meaning in WordNet: its words and its definition.
type sense struct {
	words    []string
	gloss    string
	examples []string
	uses     int // of all its words, in the texts that were counted
}

// maxSenses bounds the senses that are taken, the most used first.
const maxSenses = 25000

// AddWordNet adds general English from the database of WordNet 3 in a folder
// (data.noun and its like, cntlist.rev; format: wndb(5WN)): of the most used
// senses the definition, of some the words that mean the same and an example.
func (c *Corpus) AddWordNet(dir string) error {
	uses, err := readUses(filepath.Join(dir, "cntlist.rev"))
	if err != nil {
		return err
	}
	var senses []sense
	for _, class := range []string{"verb", "noun", "adj", "adv"} {
		if senses, err = readSenses(senses, filepath.Join(dir, "data."+class), uses); err != nil {
			return err
		}
	}
	slices.SortStableFunc(senses, func(a, b sense) int { return cmp.Compare(b.uses, a.uses) })
	for _, s := range senses[:min(maxSenses, len(senses))] {
		c.addSense(s)
		for _, w := range s.words {
			if w = strings.ToLower(w); isOneWord(w) {
				c.lemmas = append(c.lemmas, w)
			}
		}
	}
	return nil
}

func (c *Corpus) addSense(s sense) {
	dice := diceFor(s.gloss)
	switch {
	case s.gloss == "":
	case dice.Float64() < 0.5:
		c.keep("", strings.Join(s.words[:min(3, len(s.words))], ", ")+": "+firstWords(s.gloss, maxSentenceWords), true)
	default:
		c.keep("", firstWords(s.gloss, maxSentenceWords), true)
	}
	if len(s.words) > 1 && dice.Float64() < 0.5 {
		c.keep("", strings.Join(s.words, ", "), true)
	}
	if len(s.examples) > 0 && dice.Float64() < 0.4 {
		c.keep("", firstWords(pick(dice, s.examples), maxSentenceWords), true)
	}
}

func isOneWord(w string) bool {
	return len(w) > 1 && strings.Trim(strings.ToLower(w), "abcdefghijklmnopqrstuvwxyz") == ""
}

// readUses reads how often each word was counted: lines "sense_key number count".
func readUses(path string) (map[string]int, error) {
	uses := map[string]int{}
	err := eachLine(path, func(line string) error {
		f := strings.Fields(line)
		if len(f) != 3 {
			return fmt.Errorf("%d fields, not 3", len(f))
		}
		n, err := strconv.Atoi(f[2])
		if err != nil {
			return err
		}
		word, _, _ := strings.Cut(f[0], "%")
		uses[word] += n
		return nil
	})
	return uses, err
}

var quoted = regexp.MustCompile(`"([^"]{12,})"`)

func readSenses(senses []sense, path string, uses map[string]int) ([]sense, error) {
	err := eachLine(path, func(line string) error {
		if strings.HasPrefix(line, "  ") {
			return nil // the licence at the head of each file
		}
		s, err := parseSense(line, uses)
		senses = append(senses, s)
		return err
	})
	return senses, err
}

// parseSense reads "offset lexfile class words word lexid … | gloss", the
// number of words in hexadecimal.
func parseSense(line string, uses map[string]int) (sense, error) {
	head, gloss, found := strings.Cut(line, " | ")
	f := strings.Fields(head)
	if !found || len(f) < 4 {
		return sense{}, fmt.Errorf("not a sense of WordNet")
	}
	n, err := strconv.ParseUint(f[3], 16, 16)
	if err != nil || len(f) < 4+2*int(n) {
		return sense{}, fmt.Errorf("not a sense of WordNet: %s words", f[3])
	}
	var s sense
	for i := range int(n) {
		word, _, _ := strings.Cut(f[4+2*i], "(")
		s.uses += uses[strings.ToLower(word)]
		s.words = append(s.words, strings.ReplaceAll(word, "_", " "))
	}
	definition, _, _ := strings.Cut(gloss, `; "`)
	s.gloss = strings.Trim(definition, "\" ;")
	for _, m := range quoted.FindAllStringSubmatch(gloss, -1) {
		s.examples = append(s.examples, m[1])
	}
	return s, nil
}

// eachLine calls f for each line of a file; an error names file and line.
func eachLine(path string, f func(string) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() // only read
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if err := f(lines.Text()); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	return lines.Err()
}
