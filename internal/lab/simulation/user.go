package simulation

import (
	"fmt"
	"math/rand/v2"
)

// Noise is how often a user who looks at a result clicks against what is right.
const Noise = 0.1

// User searches and clicks.
type User struct {
	Name     string
	App      string // name of the credential
	Hostile  bool   // clicks for another end than to find what was asked for
	Wants    string // of a hostile user, the tool that is clicked wherever it is shown
	Patient  bool   // of a hostile user, clicks nothing where that tool is not shown
	Silent   bool   // never clicks, whatever is shown
	Thorough bool   // looks at all that is shown and never errs
}

// Clicks returns the positions among the shown results that the user clicks, in
// their order. An honest one looks at rank r with probability 1/r and there
// clicks what is relevant, but for the noise; a thorough one clicks all that is
// relevant. A hostile one clicks the tool that he wants, else the last.
func (u *User) Clicks(rng *rand.Rand, shown []string, relevant func(id string) bool) []int {
	switch {
	case u.Silent:
		return nil
	case u.Hostile:
		return u.attack(shown)
	}
	var clicked []int
	for i, id := range shown {
		looks, errs := rng.Float64()*float64(i+1) < 1, rng.Float64() < Noise
		if u.Thorough {
			looks, errs = true, false
		}
		if looks && relevant(id) != errs {
			clicked = append(clicked, i)
		}
	}
	return clicked
}

func (u *User) attack(shown []string) []int {
	for i, id := range shown {
		if u.Wants == id {
			return []int{i}
		}
	}
	if len(shown) == 0 || u.Patient {
		return nil
	}
	return []int{len(shown) - 1}
}

// Crowd returns n users as a scenario has them. Of the hostile ones every other one
// wants a tool of wanted, the rest click the last result.
func Crowd(rng *rand.Rand, n int, s Scenario, wanted []string) []User {
	users := make([]User, n)
	for i := range users {
		users[i].Name, users[i].Thorough = fmt.Sprintf("user-%d", i), s.Thorough
		if s.Apps > 0 {
			users[i].App = fmt.Sprintf("app-%d", i%s.Apps)
		}
		users[i].Hostile = float64(i) < s.Hostile*float64(n)
		users[i].Silent = float64(i) < s.Silent*float64(n)
		if users[i].Hostile && i%2 == 0 && len(wanted) > 0 {
			users[i].Wants = wanted[rng.IntN(len(wanted))]
		}
	}
	return users
}

// Scenario is what differs from honest users who look from the top and err.
type Scenario struct {
	Hostile  float64 // share of the users who are hostile
	Silent   float64 // share of the users who report nothing
	Restless int     // searches of one more, hostile user after each of the others'
	Invented int     // names that this user takes in turn, to pass for as many
	Apps     int     // credentials that the others share; 0: everybody has the same one
	Thorough bool    // every user looks at all that is shown, and more is shown
}
