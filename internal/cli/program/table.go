package program

import (
	"fmt"
	"io"
	"strings"

	"github.com/rivo/uniseg"
)

// Table prints aligned columns. If they do not fit the width, it cuts the columns that may
// shrink, the widest first.
type Table struct {
	columns []column
	Names   int // the column of the names, which commands take as arguments
	rows    [][]string
}

type column struct {
	head   string
	shrink bool // may be cut to fit
	wide   bool // is shown by -o wide alone
}

// NewTable makes a table with the given headings. A column may be cut to fit if its heading
// ends in "…", and appears only in a wide table if it begins with "+"; the marks are not
// shown.
func NewTable(heads ...string) *Table {
	t := &Table{}
	for _, h := range heads {
		h, shrink := strings.CutSuffix(h, "…")
		h, wide := strings.CutPrefix(h, "+")
		t.columns = append(t.columns, column{h, shrink, wide})
	}
	return t
}

// Add appends a row; cells are printed with fmt.Sprint.
func (t *Table) Add(cells ...any) {
	row := make([]string, len(t.columns))
	for i := range row {
		row[i] = OneLine(fmt.Sprint(cells[i]))
	}
	t.rows = append(t.rows, row)
}

// print writes the table; width 0 cuts nothing.
func (t *Table) print(w io.Writer, width int, wide bool) {
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
		var b strings.Builder
		for i, cell := range line {
			cell = cut(cell, widths[i])
			b.WriteString(cell)
			if i < len(line)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-uniseg.StringWidth(cell)+gap))
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
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

// OneLine folds white space and drops control characters, so that no text
// breaks the table or steers the terminal.
func OneLine(s string) string { return strings.Join(strings.Fields(Harmless(s)), " ") }

// Harmless replaces control characters by spaces, except newlines and tabs.
func Harmless(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return ' '
		}
		return r
	}, s)
}
