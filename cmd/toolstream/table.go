package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/rivo/uniseg"
)

// table prints aligned columns. Where they do not fit the width, the columns
// that may shrink are cut, the widest first.
type table struct {
	heads  []string
	shrink map[int]bool
	rows   [][]string
}

// newTable makes a table with the given headings. One that ends in "…" may be
// cut to fit; the mark is not shown.
func newTable(heads ...string) *table {
	t := &table{shrink: map[int]bool{}}
	for i, h := range heads {
		if cut, ok := strings.CutSuffix(h, "…"); ok {
			t.shrink[i] = true
			h = cut
		}
		t.heads = append(t.heads, h)
	}
	return t
}

func (t *table) add(cells ...any) {
	row := make([]string, len(t.heads))
	for i := range row {
		row[i] = oneLine(fmt.Sprint(cells[i]))
	}
	t.rows = append(t.rows, row)
}

// print writes the table; width 0 cuts nothing.
func (t *table) print(w io.Writer, width int) {
	widths := t.fit(width)
	t.line(w, t.heads, widths)
	for _, row := range t.rows {
		t.line(w, row, widths)
	}
}

const gap = 2

func (t *table) fit(width int) []int {
	widths := make([]int, len(t.heads))
	for _, row := range append([][]string{t.heads}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
	}
	if width <= 0 {
		return widths
	}
	for over := total(widths) - width; over > 0; over-- {
		widest := -1
		for i := range widths {
			if t.shrink[i] && widths[i] > 8 && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
}

func total(widths []int) int {
	sum := gap * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

func (t *table) line(w io.Writer, cells []string, widths []int) {
	var b strings.Builder
	for i, cell := range cells {
		cell = cut(cell, widths[i])
		b.WriteString(cell)
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-uniseg.StringWidth(cell)+gap))
		}
	}
	fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
}

// cut shortens s to at most width columns, ending in an ellipsis.
func cut(s string, width int) string {
	if uniseg.StringWidth(s) <= width {
		return s
	}
	var b strings.Builder
	used, state := 0, -1
	for s != "" {
		var cluster string
		var w int
		cluster, s, w, state = uniseg.FirstGraphemeClusterInString(s, state)
		if used+w > width-1 {
			break
		}
		b.WriteString(cluster)
		used += w
	}
	return b.String() + "…"
}

// oneLine folds white space and drops control characters, so that no text
// breaks the table or steers the terminal.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return ' '
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}
