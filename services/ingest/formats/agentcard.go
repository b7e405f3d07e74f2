package formats

import (
	"cmp"
	"strconv"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// isAgentCard recognises the agent cards of A2A, of 0.2 to 1.0: an agent with skills
// and how it is talked to.
func isAgentCard(m map[string]any) bool {
	skills, ok := m["skills"].([]any)
	if !ok || str(m, "name") == "" || str(m, "kind") != "" {
		return false
	}
	for _, s := range skills {
		if !isObject(s) {
			return false
		}
	}
	return has(m, "protocolVersion", "defaultInputModes", "supportedInterfaces", "preferredTransport") || isObject(m["capabilities"]) && has(m, "url")
}

// splitAgentCard takes an agent as a provider, and each of its skills as a tool.
func splitAgentCard(s *session, n node, h head) {
	m := n.object()
	own := ownerID(str(m, "name"))
	provider, p := s.provider(origin{head: h, own: own})
	if p != nil {
		s.problem(p)
		return
	}
	if !s.identified(h) {
		agent := Item{Kind: schema.KindProvider, Format: tooldoc.Provider, Name: toolName(str(m, "name"), own), Path: n.path, ID: makeID("", provider)}
		agent.Raw, agent.Hash = n.raw(), jsondoc.Hash(n.value)
		s.finish(agent, origin{head: head{version: h.version}})
	}
	skills, _ := m["skills"].([]any)
	var all []piece
	for i, v := range skills {
		skill, _ := v.(map[string]any)
		at := jsondoc.Pointer(n.path, "skills", strconv.Itoa(i))
		local := cmp.Or(str(skill, "id"), str(skill, "name"))
		if local == "" {
			s.refuse(h, at+"/id", Required, "a skill needs an id")
			continue
		}
		head := map[string]any{}
		if !has(skill, "agent") {
			head["agent"] = headed(m, "name", "version", "description")
		}
		for key, from := range map[string]string{"inputModes": "defaultInputModes", "outputModes": "defaultOutputModes"} {
			if modes, ok := m[from].([]any); ok && !has(skill, key) && len(jsondoc.Canonical(modes)) <= maxHeadText {
				head[key] = modes
			}
		}
		all = append(all, piece{local: local, name: cmp.Or(str(skill, "name"), local), at: at, value: skill, head: head})
	}
	s.pieces(h, n.path+"/skills", tooldoc.A2A, own, all)
}
