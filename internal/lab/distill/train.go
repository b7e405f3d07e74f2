package distill

import (
	"context"
	"math"
	"math/rand/v2"
)

// Adam (Kingma and Ba 2015), on the rows that a batch touches.
const (
	beta1   = 0.9
	beta2   = 0.99
	epsilon = 1e-8
	warmUp  = 100 // steps until the rate is reached
	maxRate = 0.01
	perStep = 1024 // texts
)

// trainer learns rows such that the sum over a text points to its target.
type trainer struct {
	cfg     Config
	entries [][]entry // of each text
	targets matrix
	rows    matrix
	first   matrix // moments of the gradients
	second  matrix
	step    int
	steps   int

	gradient matrix  // of each text's sum
	touched  []int32 // rows that the batch uses
	uses     [][]use // of each row, empty if the batch does not touch it
}

// use is a text of the batch that a row is part of.
type use struct {
	text   int32
	weight float32
}

// run trains on the given texts and returns the mean loss, 1 - cosine, of the
// last epoch.
func (t *trainer) run(ctx context.Context, texts []int, progress func(done, total int)) (float64, error) {
	dice := rand.New(rand.NewPCG(t.cfg.Seed, 4))
	batch := min(perStep, len(texts))
	perEpoch := len(texts) / batch
	t.steps = perEpoch * t.cfg.Epochs
	var loss float64
	for range t.cfg.Epochs {
		dice.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
		loss = 0
		for b := range perEpoch {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			loss += t.learn(texts[b*batch:(b+1)*batch]) / float64(perEpoch*batch)
			progress(t.step, t.steps)
		}
	}
	return loss, nil
}

// learn takes one step and returns the sum of the losses before it.
func (t *trainer) learn(texts []int) float64 {
	t.step++
	losses := make([]float64, len(texts))
	eachRow(len(texts), 16, func(i int) {
		losses[i] = t.push(t.gradient.row(i), t.entries[texts[i]], t.targets.row(texts[i]), float32(len(texts)))
	})
	t.invert(texts)
	eachRow(len(t.touched), 32, func(i int) { t.update(int(t.touched[i])) })
	for _, row := range t.touched {
		t.uses[row] = t.uses[row][:0]
	}
	var sum float64
	for _, l := range losses {
		sum += l
	}
	return sum
}

// push computes into g the gradient of 1 - cosine(sum of rows, target) by the
// sum, over n, and returns that loss.
func (t *trainer) push(g []float32, entries []entry, target []float32, n float32) float64 {
	clear(g)
	for _, e := range entries {
		axpy(e.weight, t.rows.row(int(e.row)), g)
	}
	norm := float32(math.Sqrt(float64(dot(g, g))))
	if norm < 1e-6 {
		clear(g)
		return 1
	}
	cosine := dot(g, target) / norm
	for d := range g {
		g[d] = (cosine*g[d]/norm - target[d]) / (norm * n)
	}
	return 1 - float64(cosine)
}

// invert finds the texts that use each row, in the order of the texts, so that gradients add
// up the same way every time.
func (t *trainer) invert(texts []int) {
	t.touched = t.touched[:0]
	for i, text := range texts {
		for _, e := range t.entries[text] {
			if len(t.uses[e.row]) == 0 {
				t.touched = append(t.touched, e.row)
			}
			t.uses[e.row] = append(t.uses[e.row], use{int32(i), e.weight})
		}
	}
}

// update moves one row.
func (t *trainer) update(row int) {
	g := make([]float32, t.rows.cols)
	for _, u := range t.uses[row] {
		axpy(u.weight, t.gradient.row(int(u.text)), g)
	}
	rate := t.rate() / (1 - math.Pow(beta1, float64(t.step)))
	unbias := 1 / (1 - math.Pow(beta2, float64(t.step)))
	first, second, values := t.first.row(row), t.second.row(row), t.rows.row(row)
	for d, x := range g {
		first[d] = beta1*first[d] + (1-beta1)*x
		second[d] = beta2*second[d] + (1-beta2)*x*x
		values[d] -= float32(rate * float64(first[d]) / (math.Sqrt(float64(second[d])*unbias) + epsilon))
	}
}

// rate rises over the first steps and falls to 0 at the last.
func (t *trainer) rate() float64 {
	rise := min(1, float64(t.step)/min(warmUp, float64(t.steps)/10+1))
	return maxRate * rise * (1 - float64(t.step)/float64(t.steps+1))
}
