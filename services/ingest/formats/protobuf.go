package formats

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/bufbuild/protocompile/options"
	"github.com/bufbuild/protocompile/parser"
	"github.com/bufbuild/protocompile/reporter"
	"github.com/bufbuild/protocompile/sourceinfo"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
)

// The bounds of a .proto file and of a descriptor set.
const (
	maxProtoNesting = 200     // brackets in brackets: the parser is recursive
	maxProtoMarks   = 200_000 // brackets and other marks of a .proto file: each costs some 2 KB
	maxProtoWork    = 1 << 28 // marks by the bytes of their lines: the parser reads a line again for each

	maxDescriptors     = 1_000_000 // values of a descriptor set: each costs some 400 bytes
	maxDescriptorDepth = 100       // messages in messages
)

// What makes a text a .proto file.
var (
	protoSyntax  = regexp.MustCompile(`(?m)^[ \t]*(?:syntax|edition)[ \t]*=[ \t]*["'](?:proto[23]|20\d\d)["'][ \t]*;`)
	protoService = regexp.MustCompile(`(?m)^[ \t]*service[ \t]+\w+[ \t\r\n]*\{\s*(?:rpc\b|option\b|//|/\*|\})`)
)

// isProto recognises a .proto file by the caller's word, its name, or its declarations.
func isProto(s *session, text string) bool {
	if !s.opt.mayBe(tooldoc.Protobuf) {
		return false
	}
	kind := fileKind(s.opt.Source)
	return s.opt.Format == tooldoc.Protobuf || kind == tooldoc.Protobuf || kind == "" && (protoSyntax.MatchString(text) || protoService.MatchString(text))
}

// splitProto takes a .proto file.
func splitProto(s *session, text, path string, h head) {
	file, err := parseProto(s.opt.Source, text)
	if err != nil {
		p := &Problem{ID: h.id, Path: path, Reason: InvalidProtobuf, Detail: err.Error()}
		if wrong := reporter.ErrorWithPos(nil); errors.As(err, &wrong) {
			p.Detail, p.Line = wrong.Unwrap().Error(), wrong.GetPosition().Line
		}
		s.problem(p)
		return
	}
	splitDescriptors(s, []*descriptorpb.FileDescriptorProto{file}, path, h)
}

// parseProto returns the descriptor of a .proto file with its comments. It ignores
// imports: names that the file does not define stay as written.
func parseProto(name, text string) (*descriptorpb.FileDescriptorProto, error) {
	if err := boundProto(text); err != nil {
		return nil, err
	}
	handler := reporter.NewHandler(nil)
	tree, err := parser.Parse(name, strings.NewReader(text), handler)
	if err != nil {
		return nil, err
	}
	result, err := parser.ResultFromAST(tree, true, handler)
	if err != nil {
		return nil, err
	}
	index, err := options.InterpretUnlinkedOptions(result)
	if err != nil {
		return nil, err
	}
	file := result.FileDescriptorProto()
	file.SourceCodeInfo = sourceinfo.GenerateSourceInfo(tree, index)
	return file, nil
}

// boundProto returns an error if a .proto file is beyond the bounds. It counts strings and comments,
// too.
func boundProto(text string) error {
	if nesting(text) > maxProtoNesting {
		return fmt.Errorf("brackets in brackets, more than %d deep", maxProtoNesting)
	}
	marks, work := 0, 0
	for line := range strings.Lines(text) {
		before := marks
		for i := range len(line) {
			switch line[i] {
			case '{', '}', '[', ']', '(', ')', '<', '>', ';', '=', ',':
				marks++
			}
		}
		work += (marks - before) * len(line)
	}
	switch {
	case work > maxProtoWork:
		return errors.New("its lines are too long")
	case marks > maxProtoMarks:
		return fmt.Errorf("more than %d brackets and other marks", maxProtoMarks)
	}
	return nil
}

// nesting returns the maximum depth of nested brackets. Unclosed brackets in strings and
// comments count, too.
func nesting(text string) int {
	depth, most := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '{', '[', '(', '<':
			depth++
			most = max(most, depth)
		case '}', ']', ')', '>':
			depth = max(depth-1, 0)
		}
	}
	return most
}

// splitDescriptorSet takes a serialised FileDescriptorSet.
func splitDescriptorSet(s *session, data []byte) {
	set := &descriptorpb.FileDescriptorSet{}
	if valuesOf(data, set.ProtoReflect().Descriptor(), maxDescriptors, maxDescriptorDepth) < 0 {
		s.problem(&Problem{Reason: jsondoc.TooManyNodes, Detail: fmt.Sprintf("at most %d values and %d levels", maxDescriptors, maxDescriptorDepth)})
		return
	}
	if err := (proto.UnmarshalOptions{}).Unmarshal(data, set); err != nil {
		s.problem(&Problem{Reason: InvalidProtobuf, Detail: "the descriptor set is cut off or broken"})
		return
	}
	splitDescriptors(s, set.GetFile(), "", head{})
}

// valuesOf counts the values of a message before it is decoded. It returns how many of most are left,
// negative if there are more, or more levels than depth. It stops at a broken value, as the decoder
// does.
func valuesOf(data []byte, of protoreflect.MessageDescriptor, most, depth int) int {
	if depth == 0 {
		return -1
	}
	for len(data) > 0 && most >= 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			break
		}
		length := protowire.ConsumeFieldValue(number, kind, data[n:])
		if length < 0 {
			break
		}
		value := data[n : n+length]
		data = data[n+length:]
		most--
		f := of.Fields().ByNumber(number)
		if f != nil && f.Message() != nil && kind == protowire.BytesType {
			inner, _ := protowire.ConsumeBytes(value)
			most = valuesOf(inner, f.Message(), most, depth-1)
		}
	}
	return most
}

// isDescriptorJSON recognises a FileDescriptorSet as JSON.
func isDescriptorJSON(m map[string]any) bool {
	files := objects(m["file"])
	return len(files) > 0 && strings.HasSuffix(str(files[0], "name"), ".proto")
}

func splitDescriptorJSON(s *session, n node, h head) {
	set := &descriptorpb.FileDescriptorSet{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(n.raw(), set); err != nil {
		s.refuse(h, n.path+"/file", InvalidProtobuf, strings.ReplaceAll(err.Error(), "\u00a0", " "))
		return
	}
	splitDescriptors(s, set.GetFile(), n.path, h)
}

// splitDescriptors takes each method of the services in some files as a tool.
func splitDescriptors(s *session, files []*descriptorpb.FileDescriptorProto, at string, h head) {
	definitions := map[string]any{} // JSON Schemas of messages and enums, by full name
	names := map[string]bool{}
	for _, f := range files {
		declare(names, f.GetPackage(), f.GetMessageType(), f.GetEnumType())
	}
	for _, f := range files {
		c := &protoFile{comments: commentsOf(f), names: names, schemas: definitions}
		c.messages(f.GetMessageType(), f.GetPackage(), []int32{4})
		c.enums(f.GetEnumType(), f.GetPackage(), []int32{5})
	}
	refs := &references{doc: map[string]any{"$defs": definitions}, sizes: map[uintptr]int{}}
	var all []piece
	for _, f := range files {
		c := &protoFile{comments: commentsOf(f), names: names, schemas: definitions}
		for i, service := range f.GetService() {
			for _, p := range c.methods(service, f.GetPackage(), []int32{6, int32(i)}) {
				p.at, p.refs, p.own = at, refs, f.GetPackage()
				if at != "" || len(files) > 1 {
					p.line = 0
				}
				all = append(all, p)
			}
		}
	}
	s.pieces(h, at, tooldoc.Protobuf, "", all)
}

// declare notes the full names of messages and enums.
func declare(names map[string]bool, scope string, messages []*descriptorpb.DescriptorProto, enums []*descriptorpb.EnumDescriptorProto) {
	for _, e := range enums {
		names[qualified(scope, e.GetName())] = true
	}
	for _, m := range messages {
		full := qualified(scope, m.GetName())
		names[full] = true
		declare(names, full, m.GetNestedType(), m.GetEnumType())
	}
}

func qualified(scope, name string) string {
	if scope == "" {
		return name
	}
	return scope + "." + name
}

// protoFile is a file that is being read.
type protoFile struct {
	comments map[string]comment // by path in the descriptor
	names    map[string]bool
	schemas  map[string]any // of messages and enums, by full name
}

// comment holds the comments before and after a declaration.
type comment struct {
	text string
	line int
}

func commentsOf(f *descriptorpb.FileDescriptorProto) map[string]comment {
	out := map[string]comment{}
	for _, l := range f.GetSourceCodeInfo().GetLocation() {
		c := comment{text: strings.TrimSpace(commentText(l.GetLeadingComments()) + "\n" + commentText(l.GetTrailingComments()))}
		if span := l.GetSpan(); len(span) > 0 {
			c.line = int(span[0]) + 1
		}
		if at := fmt.Sprint(l.GetPath()); out[at] == (comment{}) {
			out[at] = c
		}
	}
	return out
}

// commentText returns a comment without what only style or a linter wants.
func commentText(s string) string {
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		if line = strings.TrimPrefix(line, " "); !strings.HasPrefix(strings.TrimSpace(line), "buf:lint:") && strings.Trim(line, "-=*/ ") != "" || line == "" {
			out = append(out, strings.TrimRight(line, " \t\r"))
		}
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}

func (f *protoFile) about(path []int32) comment { return f.comments[fmt.Sprint(path)] }

// explain adds a description and whether the declaration is deprecated.
func (f *protoFile) explain(m map[string]any, path []int32, deprecated bool, more ...string) {
	all := []string{}
	for _, s := range append([]string{f.about(path).text}, more...) {
		if s != "" {
			all = append(all, s)
		}
	}
	if len(all) > 0 {
		m["description"] = strings.Join(all, "\n")
	}
	if deprecated {
		m["deprecated"] = true
	}
}

// below returns the path of a declaration in the one at path.
func below(path []int32, more ...int) []int32 {
	out := path[:len(path):len(path)]
	for _, n := range more {
		out = append(out, int32(n))
	}
	return out
}

func (f *protoFile) methods(service *descriptorpb.ServiceDescriptorProto, scope string, path []int32) []piece {
	about := map[string]any{"name": qualified(scope, service.GetName())}
	f.explain(about, path, service.GetOptions().GetDeprecated())
	if text := str(about, "description"); text != "" {
		about["description"] = cut(text, maxHeadText)
	}
	var out []piece
	for i, m := range service.GetMethod() {
		at := below(path, 2, i)
		value := map[string]any{
			"name": m.GetName(), "inputSchema": f.reference(m.GetInputType(), scope), "outputSchema": f.reference(m.GetOutputType(), scope),
		}
		if m.GetClientStreaming() {
			value["clientStreaming"] = true
		}
		if m.GetServerStreaming() {
			value["serverStreaming"] = true
		}
		f.explain(value, at, m.GetOptions().GetDeprecated() || service.GetOptions().GetDeprecated())
		out = append(out, piece{
			local: service.GetName() + "/" + m.GetName(), name: m.GetName(), line: f.about(at).line,
			value: value, head: map[string]any{"service": about},
		})
	}
	return out
}

func (f *protoFile) enums(enums []*descriptorpb.EnumDescriptorProto, scope string, path []int32) {
	for i, e := range enums {
		at, values, said := below(path, i), []any{}, []string{}
		for j, v := range e.GetValue() {
			values = append(values, v.GetName())
			if c := f.about(below(at, 2, j)); c.text != "" {
				said = append(said, v.GetName()+": "+c.text)
			}
		}
		m := map[string]any{"type": "string", "enum": values}
		f.explain(m, at, e.GetOptions().GetDeprecated(), said...)
		f.schemas[qualified(scope, e.GetName())] = m
	}
}

func (f *protoFile) messages(messages []*descriptorpb.DescriptorProto, scope string, path []int32) {
	for i, m := range messages {
		at, full := below(path, i), qualified(scope, m.GetName())
		f.messages(m.GetNestedType(), full, below(at, 3))
		f.enums(m.GetEnumType(), full, below(at, 4))
		f.schemas[full] = f.message(m, full, at)
	}
}

// message makes a JSON Schema of a message. Its fields have the names of the file.
func (f *protoFile) message(m *descriptorpb.DescriptorProto, full string, path []int32) map[string]any {
	entries := map[string]*descriptorpb.DescriptorProto{}
	for _, n := range m.GetNestedType() {
		if n.GetOptions().GetMapEntry() {
			entries[n.GetName()] = n
		}
	}
	properties, required := map[string]any{}, []any{}
	for i, field := range m.GetField() {
		schema := f.field(field, full, entries)
		behaviour := behaviourOf(field.GetOptions())
		if field.GetLabel() == descriptorpb.FieldDescriptorProto_LABEL_REQUIRED || behaviour.required {
			required = append(required, field.GetName())
		}
		if behaviour.outputOnly {
			schema["readOnly"] = true
		}
		if field.DefaultValue != nil {
			schema["default"] = field.GetDefaultValue()
		}
		f.explain(schema, below(path, 2, i), field.GetOptions().GetDeprecated())
		properties[field.GetName()] = schema
	}
	out := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	said := []string{}
	for i, o := range m.GetOneofDecl() {
		if c := f.about(below(path, 8, i)); c.text != "" {
			said = append(said, o.GetName()+": "+c.text)
		}
	}
	f.explain(out, path, m.GetOptions().GetDeprecated(), said...)
	return out
}

func (f *protoFile) field(field *descriptorpb.FieldDescriptorProto, scope string, entries map[string]*descriptorpb.DescriptorProto) map[string]any {
	name := field.GetTypeName()
	if entry := entries[name[strings.LastIndexByte(name, '.')+1:]]; entry != nil && len(entry.GetField()) == 2 {
		return map[string]any{"type": "object", "additionalProperties": f.scalar(entry.GetField()[1], scope)}
	}
	schema := f.scalar(field, scope)
	if field.GetLabel() == descriptorpb.FieldDescriptorProto_LABEL_REPEATED {
		return map[string]any{"type": "array", "items": schema}
	}
	return schema
}

func (f *protoFile) scalar(field *descriptorpb.FieldDescriptorProto, scope string) map[string]any {
	switch field.GetType() {
	case descriptorpb.FieldDescriptorProto_TYPE_DOUBLE, descriptorpb.FieldDescriptorProto_TYPE_FLOAT:
		if field.GetTypeName() == "" {
			return map[string]any{"type": "number"}
		}
	case descriptorpb.FieldDescriptorProto_TYPE_BOOL:
		return map[string]any{"type": "boolean"}
	case descriptorpb.FieldDescriptorProto_TYPE_STRING:
		return map[string]any{"type": "string"}
	case descriptorpb.FieldDescriptorProto_TYPE_BYTES:
		return map[string]any{"type": "string", "format": "byte"}
	case descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, descriptorpb.FieldDescriptorProto_TYPE_ENUM, descriptorpb.FieldDescriptorProto_TYPE_GROUP:
	default:
		return map[string]any{"type": "integer"}
	}
	return f.reference(field.GetTypeName(), scope)
}

// wellKnown are the types of protobuf itself, as its JSON writes them.
var wellKnown = map[string]map[string]any{
	"Timestamp": {"type": "string", "format": "date-time"}, "Duration": {"type": "string", "format": "duration"},
	"Struct": {"type": "object"}, "Any": {"type": "object"}, "Empty": {"type": "object", "properties": map[string]any{}}, "Value": {}, "NullValue": {"type": "null"},
	"ListValue": {"type": "array"}, "FieldMask": {"type": "string"}, "StringValue": {"type": "string"}, "BytesValue": {"type": "string", "format": "byte"},
	"BoolValue": {"type": "boolean"}, "DoubleValue": {"type": "number"}, "FloatValue": {"type": "number"},
	"Int32Value": {"type": "integer"}, "Int64Value": {"type": "integer"}, "UInt32Value": {"type": "integer"}, "UInt64Value": {"type": "integer"},
}

// reference returns the schema of a type that is named in a scope: the innermost one that
// has it.
func (f *protoFile) reference(name, scope string) map[string]any {
	full, absolute := strings.CutPrefix(name, ".")
	if known := wellKnown[strings.TrimPrefix(full, "google.protobuf.")]; known != nil && strings.HasPrefix(full, "google.protobuf.") {
		out := map[string]any{}
		for k, v := range known {
			out[k] = v
		}
		return out
	}
	for !absolute && scope != "" && !f.names[qualified(scope, full)] {
		scope = scope[:max(strings.LastIndexByte(scope, '.'), 0)]
	}
	if !absolute {
		full = qualified(scope, full)
	}
	return map[string]any{"$ref": jsondoc.Pointer("#/$defs", full)}
}

// behaviour is the google.api.field_behavior of a field.
type behaviour struct{ required, outputOnly bool }

// The number of the option google.api.field_behavior, and its values.
const (
	fieldBehaviour      = 1052
	behaviourRequired   = 2
	behaviourOutputOnly = 3
)

// behaviourOf reads the option if it was not interpreted, as in a parsed file, and if it is
// unknown to this program, as in a descriptor set.
func behaviourOf(o *descriptorpb.FieldOptions) (b behaviour) {
	for _, u := range o.GetUninterpretedOption() {
		if len(u.GetName()) == 1 && strings.TrimPrefix(u.GetName()[0].GetNamePart(), ".") == "google.api.field_behavior" {
			said := u.GetIdentifierValue() + " " + u.GetAggregateValue()
			b.required = b.required || strings.Contains(said, "REQUIRED")
			b.outputOnly = b.outputOnly || strings.Contains(said, "OUTPUT_ONLY")
		}
	}
	for rest := o.ProtoReflect().GetUnknown(); len(rest) > 0; {
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			break
		}
		size := protowire.ConsumeFieldValue(number, kind, rest[n:])
		if size < 0 {
			break
		}
		if number == fieldBehaviour {
			b.add(kind, rest[n:n+size])
		}
		rest = rest[n+size:]
	}
	return b
}

// add notes the values of the option, which stand one by one or packed.
func (b *behaviour) add(kind protowire.Type, value []byte) {
	if kind == protowire.BytesType {
		value, _ = protowire.ConsumeBytes(value)
	}
	for len(value) > 0 {
		v, n := protowire.ConsumeVarint(value)
		if n < 0 {
			return
		}
		b.required = b.required || v == behaviourRequired
		b.outputOnly = b.outputOnly || v == behaviourOutputOnly
		value = value[n:]
	}
}
