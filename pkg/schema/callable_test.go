package schema

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCallableNames(t *testing.T) {
	for _, c := range []struct{ id, provider, name, want string }{
		{"github/create_issue", "github", "create_issue", "github_create_issue"},
		{"my_server/create_issue", "my_server", "create_issue", "my_server__create_issue"},
		{"_a/b-c", "_a", "b-c", "_a__b-c"},
		{"translate", "", "translate", "translate"},
		{"web-search", "", "web-search", "web-search"},
		// What could be another one's plain name.
		{"github_create_issue", "", "github_create_issue", "github_create_issue_11e64190"},
		{"a/_b", "a", "_b", "a_b_f4438865"},
		{"a/b__c", "a", "b__c", "a_b_c_bbed5037"},
		{"a_/b", "a_", "b", "a_b_4ba7030a"},
		{"github/x_deadbeef", "github", "x_deadbeef", "github_x_deadbeef_9d2fda53"},
		{"github/deadbeef", "github", "deadbeef", "github_deadbeef_edd4aaad"},
		// What a name cannot say.
		{"pet-store/GET /pets/{id}", "pet-store", "getPet", "pet-store_getPet_96d123b8"},
		{"pet-store/GET /pets/{id}", "pet-store", "GET /pets/{id}", "pet-store_GET_pets_id_96d123b8"},
		{"github/create_issue", "other", "create_issue", "other_create_issue_cc1441ce"},
		{"a/b.c", "a", "a/b.c", "a_b_c_c0620514"},
		{"日本/検索", "日本", "検索", "tool_7db06664"},
		{"日本/search", "日本", "search", "search_dab22dbd"},
	} {
		if got := CallableName(c.id, c.provider, c.name); got != c.want {
			t.Errorf("%s of %q: %s, want %s", c.id, c.provider, got, c.want)
		}
	}
	long := strings.Repeat("very-long-provider_", 5)
	got := CallableName(long+"/x", long, "list_all_the_things_of_the_provider_that_are_there")
	if !strings.HasPrefix(got, "very-long-provider_very_list_all_the_things_of_the_") || len(got) > MaxCallableName {
		t.Errorf("a long one: %s", got)
	}
}

// readPlain tells provider and id from a plain name, as CallableName says that it can be.
func readPlain(name string) (provider, id string) {
	if provider, local, ok := strings.Cut(name, "__"); ok {
		return provider, provider + "/" + local
	}
	if provider, local, ok := strings.Cut(name, "_"); ok {
		return provider, provider + "/" + local
	}
	return "", name
}

func TestAPlainNameIsReadBack(t *testing.T) {
	plain, hashed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string) *rapid.Generator[string] {
			return rapid.StringMatching(`[ab0_./é -]{0,6}|[a0-]{1,5}(_[ab0-]{1,8}){0,2}`)
		}
		provider := text("provider").Draw(t, "provider")
		id := text("id").Draw(t, "id")
		if rapid.Bool().Draw(t, "owned") {
			id = provider + "/" + id
		}
		name := CallableName(id, provider, text("name").Draw(t, "name"))
		if err := ValidateCallableName(name); err != nil {
			t.Fatalf("%q of %q: %v", id, provider, err)
		}
		if hashedForm.MatchString(name) {
			hashed++
			return
		}
		plain++
		if p, i := readPlain(name); p != provider || i != id {
			t.Fatalf("%s of %q of %q is read back as %q of %q", name, id, provider, i, p)
		}
	})
	if plain == 0 || hashed == 0 {
		t.Errorf("%d plain names and %d others were tried", plain, hashed)
	}
}

func TestCallableNamesHaveAForm(t *testing.T) {
	for _, wrong := range []string{"", "a b", "a.b", "ä", strings.Repeat("a", 65), "a\n"} {
		if pathOf(t, ValidateCallableName(wrong)) != "/callable_name" {
			t.Errorf("%q is taken", wrong)
		}
	}
}
