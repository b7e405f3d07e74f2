package index

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/pkg/schema"
)

func document(name, description string, parameters ...string) *schema.Document {
	d := &schema.Document{Name: name, Description: description}
	for _, p := range parameters {
		d.Parameters = append(d.Parameters, schema.Parameter{Name: p})
	}
	return d
}

func copied(original, other *schema.Document) bool {
	a, b := SketchOf(original, "acme").Tool(), SketchOf(other, "globex").Tool()
	return a.CopiedBy(&b)
}

func TestCopies(t *testing.T) {
	original := document("get_forecast", "Get the weather forecast for a location. Temperatures are in degrees Celsius.", "latitude", "longitude")
	for name, other := range map[string]*schema.Document{
		"the same":            original,
		"a word changed":      document("get_forecast", "Get the weather forecast for a place. Temperatures are in degrees Celsius.", "latitude", "longitude"),
		"a sentence more":     document("get_forecast", "The best of all. Get the weather forecast for a location. Temperatures are in degrees Celsius.", "latitude", "longitude"),
		"another name":        document("weather_pro", original.Description, "latitude", "longitude"),
		"a word in front":     document("improved_forecast", "Improved: get the weather forecast for a location. Temperatures are in degrees Celsius.", "latitude", "longitude"),
		"a parameter more":    document("get_forecast", original.Description, "longitude", "latitude", "units"),
		"spelled differently": document("getForecast", original.Description, "Latitude", "Longitude"),
	} {
		if !copied(original, other) {
			t.Errorf("%s is no copy", name)
		}
	}
	for _, pair := range [][2]*schema.Document{
		{document("open_tab", "Open a new browser tab."), document("open_tab", "Fast: open a new browser tab.")},
		{document("search", "", "query"), document("search", "", "query")},
	} {
		if !copied(pair[0], pair[1]) {
			t.Errorf("%+v is no copy of %+v", pair[1], pair[0])
		}
	}
}

// All of these are of real catalogues: a word is all that tells them apart.
func TestOtherTools(t *testing.T) {
	for _, pair := range [][2]*schema.Document{
		{document("get_send_as", "Gets the specified send-as alias", "email"), document("delete_send_as", "Deletes the specified send-as alias", "email")},
		{document("edit_webhook", "Edits an existing webhook for a channel", "id"), document("delete_webhook", "Deletes an existing webhook for a channel", "id")},
		{document("webhook_v1", "Edits an existing webhook for a channel", "id"), document("webhook_v2", "Deletes an existing webhook for a channel", "id")},
		{document("search", "Search tracks", "query"), document("search", "Search", "query")},
		{document("calls_list", "List all calls with optional filtering", "limit"), document("notes_list", "List all notes with optional filtering", "limit")},
		{document("get_brewery", "Get Brewery by ID", "id"), document("get_album", "Get album by ID.", "id")},
		{document("Premier League Standings", "Premier League Standings"), document("Russian Premier League Standings", "Russian Premier League Standings")},
		{document("user_followers", "User Followers", "id"), document("user_following", "User Following", "id")},
		{document("walletobjects.flightclass.patch", "Updates the flight class referenced by the given class ID.", "id"),
			document("walletobjects.loyaltyclass.patch", "Updates the loyalty class referenced by the given class ID.", "id")},
		{document("getOrderDetails", "Retrieve the detailed information of an order", "order_id"), document("getOrderTracking", "Retrieve the tracking information of an order", "order_id", "carrier")},
		{document("unlock", "No description."), document("logout", "No description.")},
		{document("usd_to_eur", "Convert an amount from USD to EUR"), document("eur_to_usd", "Convert an amount from EUR to USD")},
		{document("search", "Search the web", "query"), document("search", "Search the web using many engines, and read what is found", "query")},
		{document("search", "...", "query"), document("find", "...", "query")},
		{document("search", "", "query"), document("find", "", "query")},
	} {
		if copied(pair[0], pair[1]) || copied(pair[1], pair[0]) {
			t.Errorf("%s and %s are taken for copies", pair[0].Name, pair[1].Name)
		}
	}
	if copied(document("get_page", "Get a page", "id", "version"), document("get_page", "Get a page", "id")) {
		t.Error("what takes fewer parameters is taken for a copy")
	}
	tagged := func(tag string) *schema.Document {
		d := document("Geocode", "Looks up a location in "+tag+" by providing an address.", "address")
		d.Tags = []string{tag + " API"}
		return d
	}
	if copied(tagged("Egypt"), tagged("Uganda")) {
		t.Error("a tool of Egypt is taken for one of Uganda")
	}
}

// Any document with a name of words is a copy of itself.
func TestADocumentIsACopyOfItself(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,9}[ .]`), 0, 300), func(words []string) string { return strings.Join(words, " ") }))
	rapid.Check(t, func(t *rapid.T) {
		d := document("forecast "+text.Draw(t, "name"), text.Draw(t, "description"), rapid.SliceOfN(text, 0, 70).Draw(t, "parameters")...)
		d.Tags = rapid.SliceOfN(text, 0, 3).Draw(t, "tags")
		if !copied(d, d) {
			t.Fatalf("%+v", d)
		}
	})
}
