package llmtest

import (
	"encoding/json"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Fault is a way for a call to fail.
type Fault string

// The faults.
const (
	TooMany    Fault = "too-many"    // 429 with Retry-After
	ServerFail Fault = "server-fail" // 500, as plain text
	Hang       Fault = "hang"        // no answer until the caller goes away
	Slow       Fault = "slow"        // byte by byte
	CutBody    Fault = "cut-body"    // the connection ends amid the answer
	CutJSON    Fault = "cut-json"    // the content ends amid its JSON: finish_reason length
	Prose      Fault = "prose"       // the content is not JSON
	Refusal    Fault = "refusal"     // the model declines
	NoChoices  Fault = "no-choices"
	WrongShape Fault = "wrong-shape" // JSON of another schema
	Invented   Fault = "invented"    // a parameter (or argument) that the question does not name
	Missing    Fault = "missing"     // a parameter (or argument) is left out
	Echo       Fault = "echo"        // texts of the answer repeat the prompt
)

// All lists every fault.
func All() []Fault {
	return []Fault{TooMany, ServerFail, Hang, Slow, CutBody, CutJSON, Prose, Refusal, NoChoices, WrongShape, Invented, Missing, Echo}
}

// Faults make calls fail by chance. The seed, the text of the question and its
// repetition count decide, so that a run is reproducible in any order of calls.
type Faults struct {
	Seed   uint64
	Chance map[Fault]float64 // of each, together at most 1
}

// Mixed spreads a chance evenly over the faults.
func Mixed(seed uint64, chance float64, faults ...Fault) Faults {
	f := Faults{Seed: seed, Chance: map[Fault]float64{}}
	for _, one := range faults {
		f.Chance[one] = chance / float64(len(faults))
	}
	return f
}

func (f Faults) pick(text string, times int) Fault {
	h := fnv.New64a()
	for _, part := range []string{strconv.FormatUint(f.Seed, 10), text, strconv.Itoa(times)} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	at := float64(mix(h.Sum64())>>11) / (1 << 53)
	for _, one := range slices.Sorted(maps.Keys(f.Chance)) {
		if at -= f.Chance[one]; at < 0 {
			return one
		}
	}
	return ""
}

// mix spreads the bits: FNV's high ones hardly depend on the last bytes
// (finaliser of splitmix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// spoil applies the faults of the content.
func spoil(r Request, reply Reply) Reply {
	switch reply.Fault {
	case CutJSON:
		reply.Content, reply.Finish = reply.Content[:len(reply.Content)/2], "length"
	case Prose:
		reply.Content = "Certainly, here is what you asked for, as well as I can tell."
	case Refusal:
		reply.Content, reply.Refusal = "", "I am sorry, but I cannot help with that."
	case WrongShape:
		reply.Content = `{"unexpected":{"answer":[1,2,3]}}`
	case Invented, Missing, Echo:
		reply.Content = changed(reply.Content, func(o map[string]any) { spoilObject(r, reply.Fault, o) })
	}
	return reply
}

func changed(content string, change func(map[string]any)) string {
	var o map[string]any
	if json.Unmarshal([]byte(content), &o) != nil {
		return content
	}
	change(o)
	b, err := json.Marshal(o)
	if err != nil {
		return content
	}
	return string(b)
}

// invention is a name that no document of a test has.
const invention = "quux_override"

func spoilObject(r Request, f Fault, o map[string]any) {
	if f == Echo {
		for key, value := range o {
			if _, ok := value.(string); ok {
				o[key] = strings.TrimSpace(r.System + "\n" + r.User)
			}
		}
		return
	}
	for _, key := range []string{"parameters", "arguments"} {
		switch list := o[key].(type) {
		case []any:
			o[key] = spoilList(f, list)
		case map[string]any:
			spoilMap(f, list)
		}
	}
}

func spoilList(f Fault, list []any) []any {
	if f == Missing {
		return list[:max(0, len(list)-1)]
	}
	entry := map[string]any{}
	if len(list) > 0 {
		if first, ok := list[0].(map[string]any); ok {
			entry = maps.Clone(first)
		}
	}
	entry["name"] = invention
	return append(list, entry)
}

func spoilMap(f Fault, m map[string]any) {
	names := slices.Sorted(maps.Keys(m))
	switch {
	case f == Invented && len(names) > 0:
		m[invention] = m[names[0]]
	case f == Invented:
		m[invention] = "What overrides the rest"
	case len(names) > 0:
		delete(m, names[len(names)-1])
	}
}
