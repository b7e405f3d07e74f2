package evaluation

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
)

// Curve is one line of a plot: the mean recall of some queries against k.
type Curve struct {
	Label   string
	Queries []QueryResult
}

// The plot's measures, in pixels, and how far it goes.
const (
	plotWidth, plotHeight = 720, 440
	plotLeft, plotRight   = 64, 24
	plotTop, plotBottom   = 56, 56
	plotMaxK              = 100
)

// plotColours are told apart by readers who see few colours (Okabe and Ito
// 2008).
var plotColours = [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7"}

// Plot writes an SVG image of recall against k from 1 to 100, on a logarithmic
// axis. The shade around a line is its 95 % interval by bootstrap over the
// queries.
func Plot(w io.Writer, title string, curves []Curve) error {
	if len(curves) == 0 || len(curves) > len(plotColours) {
		return fmt.Errorf("plot: %d curves, want 1 to %d", len(curves), len(plotColours))
	}
	p := &plot{out: bufio.NewWriter(w)}
	p.frame(title)
	for i, c := range curves {
		p.shade(c, plotColours[i])
	}
	for i, c := range curves {
		p.line(c, plotColours[i])
		p.legend(len(curves)-1-i, c.Label, plotColours[i])
	}
	p.print("</svg>\n")
	if err := p.out.Flush(); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	return nil
}

// plot keeps its first error in out.
type plot struct{ out *bufio.Writer }

func (p *plot) print(format string, args ...any) { fmt.Fprintf(p.out, format, args...) }

func plotX(k int) float64 {
	return plotLeft + math.Log(float64(k))/math.Log(plotMaxK)*(plotWidth-plotLeft-plotRight)
}

func plotY(recall float64) float64 {
	return plotTop + (1-recall)*(plotHeight-plotTop-plotBottom)
}

func (p *plot) frame(title string) {
	p.print(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="system-ui, sans-serif" font-size="13" fill="#333">`+"\n",
		plotWidth, plotHeight, plotWidth, plotHeight)
	p.print(`<rect width="100%%" height="100%%" fill="#fff"/>` + "\n")
	p.print(`<text x="%d" y="28" font-size="16" font-weight="600">%s</text>`+"\n", plotLeft, escape(title))
	for tenths := 0; tenths <= 10; tenths += 2 {
		y := plotY(float64(tenths) / 10)
		p.print(`<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#e5e5e5"/>`+"\n", plotLeft, plotWidth-plotRight, y, y)
		p.print(`<text x="%d" y="%.1f" text-anchor="end" dy="4">%.1f</text>`+"\n", plotLeft-10, y, float64(tenths)/10)
	}
	for _, k := range []int{1, 2, 3, 5, 10, 20, 30, 50, 100} {
		p.print(`<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="#999"/>`+"\n", plotX(k), plotX(k), plotY(0), plotY(0)+5)
		p.print(`<text x="%.1f" y="%.1f" text-anchor="middle">%d</text>`+"\n", plotX(k), plotY(0)+20, k)
	}
	p.print(`<text x="%.1f" y="%d" text-anchor="middle">k</text>`+"\n", (plotX(1)+plotX(plotMaxK))/2, plotHeight-14)
	p.print(`<text transform="translate(18 %.1f) rotate(-90)" text-anchor="middle">recall@k</text>`+"\n", (plotY(0)+plotY(1))/2)
}

func (p *plot) shade(c Curve, colour string) {
	var upper, lower []string
	for k := 1; k <= plotMaxK; k++ {
		over := Bootstrap(c.at(k))
		upper = append(upper, fmt.Sprintf("%.1f,%.1f", plotX(k), plotY(over.High)))
		lower = append([]string{fmt.Sprintf("%.1f,%.1f", plotX(k), plotY(over.Low))}, lower...)
	}
	p.print(`<polygon points="%s" fill="%s" fill-opacity="0.15"/>`+"\n", strings.Join(append(upper, lower...), " "), colour)
}

func (p *plot) line(c Curve, colour string) {
	points := make([]string, plotMaxK)
	for i := range points {
		points[i] = fmt.Sprintf("%.1f,%.1f", plotX(i+1), plotY(mean(c.at(i+1))))
	}
	p.print(`<polyline points="%s" fill="none" stroke="%s" stroke-width="2" stroke-linejoin="round"/>`+"\n", strings.Join(points, " "), colour)
}

// legend names a curve, so many lines above the lowest.
func (p *plot) legend(above int, label, colour string) {
	y := int(plotY(0)) - 20 - 20*above
	p.print(`<line x1="%d" x2="%d" y1="%d" y2="%d" stroke="%s" stroke-width="3"/>`+"\n", plotWidth-250, plotWidth-226, y, y, colour)
	p.print(`<text x="%d" y="%d" dy="4">%s</text>`+"\n", plotWidth-218, y, escape(label))
}

// at returns the recall of every query in the first k places.
func (c Curve) at(k int) []float64 {
	values := make([]float64, len(c.Queries))
	for i := range c.Queries {
		values[i] = c.Queries[i].Recall(k)
	}
	return values
}

func escape(s string) string {
	var b strings.Builder
	// A strings.Builder takes everything.
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}
