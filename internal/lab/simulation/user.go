package simulation

import (
	"fmt"
	"math/rand/v2"
)

// Noise is the probability that a user misjudges a result that he looks at.
const Noise = 0.1

// User searches and clicks.
type User struct {
	Name     string
	App      string // name of the credential
	Hostile  bool   // clicks for an end of his own, whatever the query asks for
	Wants    string // of a hostile user, the tool that is clicked wherever it is shown
	Patient  bool   // of a hostile user, clicks nothing if that tool is not shown
	Silent   bool   // never clicks, whatever is shown
	Thorough bool   // looks at every shown result and never errs
}

// Clicks returns the positions among the shown results that the user clicks, in their order.
// An honest user looks at rank r with probability 1/r and clicks a relevant result, subject to
// Noise. A thorough user clicks every relevant result. A hostile user clicks the tool that he
// wants, else the last result.
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

// Crowd returns the n users of a scenario. Every other hostile user wants a tool of wanted;
// the rest click the last result.
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

// Scenario describes how users differ from honest users, who look from the top and err.
type Scenario struct {
	Hostile  float64 // share of hostile users
	Silent   float64 // share of silent users
	Restless int     // searches of one more, hostile user after each of the others'
	Invented int     // names that the restless user takes in turn, to pass for as many users
	Apps     int     // credentials that the others share; 0: all users have the same credential
	Thorough bool    // every user looks at every result, and more results are shown
}
