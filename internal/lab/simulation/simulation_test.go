package simulation

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// An honest user clicks the relevant result of rank r in 0.9/r of the searches.
func TestHonestUsersClickByRank(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	shown := []string{"a", "b", "c", "d"}
	u := User{}
	for rank, id := range shown {
		const n = 20000
		right, wrong := 0, 0
		for range n {
			clicked := u.Clicks(rng, shown, func(x string) bool { return x == id })
			if slices.Contains(clicked, rank) {
				right++
			}
			if slices.Contains(clicked, (rank+1)%4) {
				wrong++
			}
		}
		if got, want := float64(right)/n, (1-Noise)/float64(rank+1); math.Abs(got-want) > 0.02 {
			t.Errorf("rank %d: relevant clicked in %.3f of the searches, want %.3f", rank+1, got, want)
		}
		if got, want := float64(wrong)/n, Noise/float64((rank+1)%4+1); math.Abs(got-want) > 0.02 {
			t.Errorf("rank %d: not relevant clicked in %.3f of the searches, want %.3f", (rank+1)%4+1, got, want)
		}
	}
}

func TestThoroughUsersClickAllThatIsRelevant(t *testing.T) {
	users := Crowd(rand.New(rand.NewPCG(1, 2)), 1, Scenario{Thorough: true}, nil)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		if got := users[0].Clicks(rng, []string{"a", "b", "c", "d"}, func(id string) bool { return id > "b" }); !slices.Equal(got, []int{2, 3}) {
			t.Fatalf("clicked %v", got)
		}
	}
}

func TestHostileUsersClickWhatTheyWant(t *testing.T) {
	users := Crowd(rand.New(rand.NewPCG(1, 2)), 10, Scenario{Hostile: 0.2}, []string{"b"})
	never := func(string) bool { return false }
	hostile := 0
	for i := range users {
		u := &users[i]
		if !u.Hostile {
			continue
		}
		hostile++
		want := []int{2}
		if u.Wants != "" {
			want = []int{1}
		}
		if got := u.Clicks(nil, []string{"a", "b", "c"}, never); !slices.Equal(got, want) {
			t.Errorf("%+v clicks %v, want %v", u, got, want)
		}
	}
	if hostile != 2 {
		t.Errorf("%d of 10 are hostile, want 2", hostile)
	}
}

func TestSilentUsersClickNothing(t *testing.T) {
	users := Crowd(rand.New(rand.NewPCG(1, 2)), 10, Scenario{Silent: 0.2}, nil)
	rng, silent := rand.New(rand.NewPCG(1, 2)), 0
	for i := range users {
		clicks := 0
		for range 100 {
			clicks += len(users[i].Clicks(rng, []string{"a", "b"}, func(string) bool { return true }))
		}
		if clicks == 0 {
			silent++
		}
		if users[i].Silent != (clicks == 0) {
			t.Errorf("%+v clicks %d times", users[i], clicks)
		}
	}
	if silent != 2 {
		t.Errorf("%d of 10 are silent, want 2", silent)
	}
}
