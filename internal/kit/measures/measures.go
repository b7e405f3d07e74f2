// Package measures lists the program's metrics from their declarations in the code. It generates
// docs/metrics.md, and gives tests of dashboards and alerts the list of valid metrics.
package measures

//go:generate go run ./generate

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Metric is one metric as it is declared.
type Metric struct {
	Name   string
	Kind   string // counter, gauge or histogram
	Help   string
	Labels []string // in the order of their declaration
	Folder string   // of the package that declares it, as services/query
}

// Declared returns the metrics that the code below root declares, by name. It fails if the name or
// the help of a metric is not a literal.
func Declared(root string) ([]Metric, error) {
	var all []Metric
	for _, dir := range []string{"internal", "services"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(file string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") || file == filepath.Join(root, "internal", "kit", "telemetry", "metric.go") {
				return err
			}
			folder, err := filepath.Rel(root, filepath.Dir(file))
			if err != nil {
				return err
			}
			found, err := declaredIn(file, filepath.ToSlash(folder))
			all = append(all, found...)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("measures: %w", err)
		}
	}
	slices.SortFunc(all, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func declaredIn(name, folder string) ([]Metric, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := source{file}
	var out []Metric
	var errs []error
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || kindOf(call) == "" {
			return true
		}
		m, err := f.metric(call)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			return false
		}
		m.Folder = folder
		out = append(out, m)
		return true
	})
	return out, errors.Join(errs...)
}

// kindOf returns the kind of metric that a call of prometheus, promauto or package telemetry
// declares, or nothing if it declares none. A Desc alone does not give the kind: all of ours are
// gauges.
func kindOf(call *ast.CallExpr) string {
	fn, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	name := strings.TrimSuffix(strings.TrimSuffix(fn.Sel.Name, "Func"), "Vec")
	return map[string]string{
		"NewCounter": "counter", "NewGauge": "gauge", "NewDesc": "gauge", "NewHistogram": "histogram", "NewSummary": "summary",
	}[name]
}

// source evaluates the literals of a file.
type source struct{ *ast.File }

// metric reads a declaration: options first and then labels; or name, help and labels.
func (f source) metric(call *ast.CallExpr) (m Metric, err error) {
	m.Kind = kindOf(call)
	name := call.Fun.(*ast.SelectorExpr).Sel.Name
	options, ok := call.Args[0].(*ast.CompositeLit)
	switch {
	case ok:
		fields := f.fields(options)
		m.Name, m.Help, m.Labels = f.text(fields["Name"]), f.text(fields["Help"]), f.keys(fields["ConstLabels"])
		if strings.HasSuffix(name, "Vec") {
			m.Labels = append(m.Labels, f.texts(call.Args[1])...)
		}
	case len(call.Args) > 1: // NewDesc, and functions of package telemetry
		m.Name, m.Help = f.text(call.Args[0]), f.text(call.Args[1])
		if name == "NewDesc" || strings.HasSuffix(name, "Vec") {
			m.Labels = f.texts(call.Args[2])
		}
	}
	if m.Name == "" || m.Help == "" {
		return m, fmt.Errorf("a %s whose name and help are no literals (%q)", m.Kind, m.Name)
	}
	return m, nil
}

func (f source) fields(lit *ast.CompositeLit) map[string]ast.Expr {
	out := map[string]ast.Expr{}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok {
				out[key.Name] = kv.Value
			}
		}
	}
	return out
}

// text is a string literal, or the constant or variable of the file that is one.
func (f source) text(e ast.Expr) string {
	lit, ok := f.value(e).(*ast.BasicLit)
	if !ok {
		return ""
	}
	s, err := strconv.Unquote(lit.Value)
	if err != nil {
		return ""
	}
	return s
}

func (f source) texts(e ast.Expr) []string {
	lit, ok := f.value(e).(*ast.CompositeLit)
	if !ok {
		return nil
	}
	var out []string
	for _, e := range lit.Elts {
		out = append(out, f.text(e))
	}
	return out
}

// keys returns the keys of a map.
func (f source) keys(e ast.Expr) []string {
	lit, ok := f.value(e).(*ast.CompositeLit)
	if !ok {
		return nil
	}
	var out []string
	for _, e := range lit.Elts {
		out = append(out, f.text(e.(*ast.KeyValueExpr).Key))
	}
	return out
}

// value resolves a name of the file to its expression; other expressions are returned as they are.
func (f source) value(e ast.Expr) ast.Expr {
	name, ok := e.(*ast.Ident)
	if !ok {
		return e
	}
	var found ast.Expr
	ast.Inspect(f.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if left, ok := n.Lhs[0].(*ast.Ident); ok && left.Name == name.Name && len(n.Rhs) == 1 {
				found = n.Rhs[0]
			}
		case *ast.ValueSpec:
			if n.Names[0].Name == name.Name && len(n.Values) == 1 {
				found = n.Values[0]
			}
		}
		return found == nil
	})
	return found
}
