package llm

import "errors"

// Resting returns why the stages that do not ask at the moment do not, because
// too many of their last calls failed.
func (c *Client) Resting() map[Stage]error {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[Stage]error{}
	for stage, circuit := range c.circuits {
		if err := circuit.resting(); err != nil {
			out[stage] = err
		}
	}
	return out
}

// resting returns the last failure of a circuit that is not closed.
func (c *circuit) resting() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == closed {
		return nil
	}
	return errors.New(c.cause.Error())
}
