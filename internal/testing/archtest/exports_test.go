package archtest

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestExportsAreDocumented(t *testing.T) {
	set := token.NewFileSet()
	packages := map[string][]*ast.File{}
	for _, file := range goFiles(t) {
		if isTest(file) {
			continue
		}
		f, err := parser.ParseFile(set, root(file), nil, parser.ParseComments|parser.SkipObjectResolution)
		check.OK(t, err)
		packages[path.Dir(file)] = append(packages[path.Dir(file)], f)
	}
	for dir, files := range packages {
		p, err := doc.NewFromFiles(set, files, module+dir)
		check.OK(t, err)
		if p.Doc == "" {
			t.Errorf("package %s has no package comment", dir)
		}
		for _, name := range undocumented(p) {
			t.Errorf("%s: %s is exported and has no comment that starts with its name", dir, name)
		}
	}
}

func undocumented(p *doc.Package) []string {
	var out []string
	functions, values := p.Funcs, append(p.Consts, p.Vars...)
	for _, typ := range p.Types {
		if !says(typ.Doc, typ.Name) {
			out = append(out, typ.Name)
		}
		functions = append(append(functions, typ.Funcs...), typ.Methods...)
		values = append(append(values, typ.Consts...), typ.Vars...)
	}
	for _, f := range functions {
		if !says(f.Doc, f.Name) && (f.Recv == "" || !standard(f.Name)) {
			out = append(out, f.Name)
		}
	}
	for _, v := range values {
		for _, spec := range v.Decl.Specs { // one comment may be of a whole group
			s := spec.(*ast.ValueSpec)
			if v.Doc == "" && s.Doc == nil && s.Comment == nil && s.Names[0].IsExported() {
				out = append(out, s.Names[0].Name)
			}
		}
	}
	return out
}

func says(text, name string) bool {
	for _, article := range []string{"A ", "An ", "The "} {
		text = strings.TrimPrefix(text, article)
	}
	return strings.HasPrefix(text, name)
}

// standard reports methods whose meaning the standard library fixes.
func standard(name string) bool {
	switch name {
	case "Error", "Unwrap", "String", "Len", "Less", "Swap", "Push", "Pop":
		return true
	}
	return false
}
