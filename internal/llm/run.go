package llm

import (
	"context"
	"time"
)

const (
	saveEvery = 5 * time.Second
	saveLast  = 5 * time.Second // time to save at the end
)

// Run keeps the accounts in the store until ctx ends. Without a store it only
// waits. A store that can not be read or written is tried again: meanwhile the
// budget counts from the start of the process.
func (c *Client) Run(ctx context.Context) error {
	if c.deps.Store == nil {
		<-ctx.Done()
		return nil
	}
	known := c.load(ctx)
	close(c.loaded)
	ticker := time.NewTicker(saveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if known = known || c.load(ctx); known {
				c.save(ctx)
			}
		case <-ctx.Done():
			if known {
				last, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveLast)
				defer cancel()
				c.save(last)
			}
			return nil
		}
	}
}

// load reads what was spent earlier today. Accounts that make no sense count
// as none.
func (c *Client) load(ctx context.Context) (known bool) {
	ctx, cancel := context.WithTimeout(ctx, saveLast)
	defer cancel()
	saved, err := c.deps.Store.Load(ctx)
	if err != nil {
		c.deps.Logger.Warn("what the language model cost earlier today is not known", "error", err)
		return false
	}
	if err := c.ledger.merge(c.deps.Now(), saved); err != nil {
		c.deps.Logger.Warn("what the language model cost earlier today is lost", "error", err)
	}
	return true
}

func (c *Client) save(ctx context.Context) {
	accounts, err := c.ledger.unsaved(c.deps.Now())
	if accounts == nil && err == nil {
		return
	}
	if err == nil {
		err = c.deps.Store.Save(ctx, accounts)
	}
	if err != nil {
		c.ledger.keep()
		c.deps.Logger.Warn("the accounts of the language model are not saved", "error", err)
	}
}
