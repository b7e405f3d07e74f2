package program

import (
	"strings"
	"testing"

	"github.com/rivo/uniseg"
)

func TestTableFitsTheWidth(t *testing.T) {
	table := NewTable("#", "ID…", "DESCRIPTION…", "+REVISION")
	table.Add(1, "weather/get_forecast", "Daily forecast for up to fourteen days in any place of the world", 1)
	table.Add(2, "旅行/查询火车票", "查询高铁和普通列车的余票、票价和时刻表。", 2)
	for _, width := range []int{40, 60, 200} {
		var b strings.Builder
		table.print(&b, width, false)
		for _, line := range strings.Split(b.String(), "\n") {
			if got := uniseg.StringWidth(line); got > width {
				t.Errorf("width %d: %d columns in %q", width, got, line)
			}
		}
	}
}

func TestTableWithoutAWidthCutsNothing(t *testing.T) {
	table := NewTable("ID…", "X")
	long := strings.Repeat("long ", 100)
	table.Add(long, 1)
	var b strings.Builder
	table.print(&b, 0, false)
	if !strings.Contains(b.String(), strings.TrimSpace(long)) {
		t.Error("the cell was cut")
	}
}

func TestCutKeepsCharactersWhole(t *testing.T) {
	tests := []struct {
		in    string
		width int
		want  string
	}{
		{"forecast", 8, "forecast"},
		{"forecast", 5, "fore…"},
		{"查询火车票", 5, "查询…"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"👩‍🔧👩‍🔧", 3, "👩‍🔧…"},
	}
	for _, test := range tests {
		if got := cut(test.in, test.width); got != test.want {
			t.Errorf("cut(%q, %d) = %q, want %q", test.in, test.width, got, test.want)
		}
	}
}

func TestOneLineDisarmsTheTerminal(t *testing.T) {
	if got := OneLine("a\x1b[31mred\nnext\tline\x00\u009b"); got != "a [31mred next line" {
		t.Errorf("got %q", got)
	}
}
