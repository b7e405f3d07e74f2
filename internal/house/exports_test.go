package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"
)

func TestExportsAreDocumented(t *testing.T) {
	packages := map[string]bool{}
	for _, file := range goFiles(t) {
		if isTest(file) {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), root(file), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		dir := path.Dir(file)
		packages[dir] = packages[dir] || f.Doc != nil
		for _, name := range undocumented(f) {
			t.Errorf("%s: %s is exported and has no comment that starts with its name", file, name)
		}
	}
	for dir, documented := range packages {
		if !documented {
			t.Errorf("package %s has no package comment", dir)
		}
	}
}

func undocumented(f *ast.File) []string {
	var out []string
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && exportedReceiver(d) && !says(d.Doc, d.Name.Name) && !standard(d) {
				out = append(out, d.Name.Name)
			}
		case *ast.GenDecl:
			out = append(out, undocumentedSpecs(d)...)
		}
	}
	return out
}

// undocumentedSpecs accepts one comment for a whole group of constants or
// variables.
func undocumentedSpecs(d *ast.GenDecl) []string {
	var out []string
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && !says(s.Doc, s.Name.Name) && !says(d.Doc, s.Name.Name) {
				out = append(out, s.Name.Name)
			}
		case *ast.ValueSpec:
			for _, n := range s.Names {
				if n.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
					out = append(out, n.Name)
				}
			}
		}
	}
	return out
}

func says(doc *ast.CommentGroup, name string) bool {
	if doc == nil {
		return false
	}
	text := doc.Text()
	for _, article := range []string{"A ", "An ", "The "} {
		text = strings.TrimPrefix(text, article)
	}
	return strings.HasPrefix(text, name)
}

// standard reports methods whose meaning the standard library fixes.
func standard(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return false
	}
	switch d.Name.Name {
	case "Error", "Unwrap", "String", "Len", "Less", "Swap", "Push", "Pop":
		return true
	}
	return false
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if generic, ok := typ.(*ast.IndexExpr); ok {
		typ = generic.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}
