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
	columns []column
	names   int // the column of the names, which commands take as arguments
	rows    [][]string
}

type column struct {
	head   string
	shrink bool // may be cut to fit
	wide   bool // is shown by -o wide alone
}

// newTable makes a table with the given headings. A column may be cut to fit if
// its heading ends in "…", and stands in a wide table alone if it begins with
// "+"; the marks are not shown.
func newTable(heads ...string) *table {
	t := &table{}
	for _, h := range heads {
		h, shrink := strings.CutSuffix(h, "…")
		h, wide := strings.CutPrefix(h, "+")
		t.columns = append(t.columns, column{h, shrink, wide})
	}
	return t
}

func (t *table) add(cells ...any) {
	row := make([]string, len(t.columns))
	for i := range row {
		row[i] = oneLine(fmt.Sprint(cells[i]))
	}
	t.rows = append(t.rows, row)
}

// print writes the table; width 0 cuts nothing.
func (t *table) print(w io.Writer, width int, wide bool) {
	var heads []string
	var shrink []bool
	rows := make([][]string, len(t.rows))
	for i, c := range t.columns {
		if c.wide && !wide {
			continue
		}
		heads, shrink = append(heads, c.head), append(shrink, c.shrink)
		for r := range rows {
			rows[r] = append(rows[r], t.rows[r][i])
		}
	}
	lines := append([][]string{heads}, rows...)
	widths := fit(lines, shrink, width)
	for _, line := range lines {
		printLine(w, line, widths)
	}
}

// printNames writes the names, one a line.
func (t *table) printNames(w io.Writer) {
	for _, row := range t.rows {
		fmt.Fprintln(w, row[t.names])
	}
}

const gap = 2

// fit returns the widths of columns that together need no more than width.
func fit(lines [][]string, shrink []bool, width int) []int {
	widths := make([]int, len(shrink))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
	}
	if width <= 0 {
		return widths
	}
	for over := total(widths) - width; over > 0; over-- {
		widest := -1
		for i := range widths {
			if shrink[i] && widths[i] > 8 && (widest < 0 || widths[i] > widths[widest]) {
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

func printLine(w io.Writer, cells []string, widths []int) {
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
func oneLine(s string) string { return strings.Join(strings.Fields(harmless(s)), " ") }

// harmless replaces control characters by spaces, but for the ends of lines and tabs.
func harmless(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return ' '
		}
		return r
	}, s)
}
