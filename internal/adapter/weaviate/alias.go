package weaviate

import (
	"context"
	"fmt"
	"net/http"
)

// alias is a name that stands for a class. Client v4 knows none, so they go
// over its REST connection.
type alias struct {
	Alias string `json:"alias,omitempty"`
	Class string `json:"class"`
}

// Live returns the class that searches go to, "" where there is none yet.
func (c *Client) Live(ctx context.Context) (string, error) {
	var a alias
	err := c.call(ctx, http.MethodGet, "/aliases/"+c.config.Alias, nil, &a)
	if statusOf(err) == http.StatusNotFound {
		return "", nil
	}
	return a.Class, err
}

// Switch lets searches go to another class from one moment to the next. The
// class that they went to stays, so that switching back is one step too.
func (c *Client) Switch(ctx context.Context, class string) error {
	if _, err := c.class(ctx, class); err != nil {
		return err // an alias may be made to lead nowhere
	}
	live, err := c.Live(ctx)
	if err != nil {
		return err
	}
	if live == "" {
		return c.call(ctx, http.MethodPost, "/aliases", alias{Alias: c.config.Alias, Class: class}, nil)
	}
	return c.call(ctx, http.MethodPut, "/aliases/"+c.config.Alias, alias{Class: class}, nil)
}

// introduce lets searches go to a class if they go nowhere yet. Another process
// may be about to do the same.
func (c *Client) introduce(ctx context.Context, class string) error {
	live, err := c.Live(ctx)
	if err != nil || live != "" {
		return err
	}
	err = c.Switch(ctx, class)
	if live, again := c.Live(ctx); again == nil && live != "" {
		return nil
	}
	return err
}

// Drop removes a class with everything in it. The live one is not removed:
// Weaviate would leave the alias without anything behind it.
func (c *Client) Drop(ctx context.Context, class string) error {
	live, err := c.Live(ctx)
	if err != nil {
		return err
	}
	if class == live || class == c.config.Alias {
		return fmt.Errorf("weaviate: class %s is live: switch to another one first", live)
	}
	if err := c.schema.ClassDeleter().WithClassName(class).Do(ctx); err != nil {
		return fmt.Errorf("weaviate: drop class %s: %w", class, err)
	}
	return nil
}
