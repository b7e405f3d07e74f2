package indexmgr

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/adapter/weaviate"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/embedder"
)

// Folder is where the index of version 1 lies in the data folder; the number of another
// version follows the name.
const Folder = "index"

func (m *Manager) folder(number int) string {
	return filepath.Join(m.Settings.Data, events.Numbered(Folder, number))
}

// folders returns the numbers of the versions that have a folder.
func (m *Manager) folders() ([]int, error) {
	entries, err := os.ReadDir(m.Settings.Data)
	if err != nil {
		return nil, err
	}
	var found []int
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), Folder)
		if n := (events.ToolsEmbedded + events.Topic(rest)).IndexVersion(); ok && n > 0 {
			found = append(found, n)
		}
	}
	return found, nil
}

// retire closes versions that the plan gave up, and reports whether that is done. The live
// instance stays open, but is not written any more, until searches have left it.
func (m *Manager) retire(plan Plan) bool {
	m.mu.Lock()
	var gone []*Instance
	for number, in := range m.instances {
		if !plan.Has(number) {
			gone = append(gone, in)
		}
	}
	live := m.live
	m.mu.Unlock()
	done := true
	for _, in := range gone {
		if in == live {
			in.halt()
			done = false
			continue
		}
		m.forget(in)
		if err := in.close(); err != nil {
			m.Logger.Warn("a retired index version was not closed in order", "version", in.Number, "error", err)
		}
		m.Logger.Info("an index version is retired", "version", in.Number, "setting", in.Setting)
	}
	return done
}

// sweep removes what is left of versions that the plan gave up: their folders where the
// process searches, their topics and groups where it embeds.
func (m *Manager) sweep(ctx context.Context, plan Plan) bool {
	if m.swept != nil && slices.Equal(m.swept, plan.Versions) {
		return true
	}
	return m.try("sweep", "what is left of a retired index version cannot be removed yet", func() error {
		var errs []error
		if m.Searches {
			errs = append(errs, m.sweepFolders(plan))
		}
		if m.Embeds {
			errs = append(errs, m.sweepTopics(ctx, plan))
		}
		err := errors.Join(errs...)
		if err == nil {
			m.swept = plan.Versions
		}
		return err
	})
}

// over reports whether a version was retired. A number that the plan never gave belongs to
// a plan that this one does not know.
func (m *Manager) over(plan Plan, number int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return number <= plan.Last && !plan.Has(number) && m.instances[number] == nil
}

func (m *Manager) sweepFolders(plan Plan) error {
	numbers, err := m.folders()
	errs := []error{err}
	for _, n := range numbers {
		if m.over(plan, n) {
			errs = append(errs, os.RemoveAll(m.folder(n)))
		}
	}
	return errors.Join(errs...)
}

func (m *Manager) sweepTopics(ctx context.Context, plan Plan) error {
	numbers, err := m.Bus.Versions(ctx)
	if err != nil {
		return err
	}
	if plan.Last > 1 {
		numbers = append(numbers, 1)
	}
	var errs []error
	for _, n := range numbers {
		if m.over(plan, n) {
			errs = append(errs, m.sweepTopic(ctx, plan, n))
		}
	}
	return errors.Join(errs...)
}

// sweepTopic removes the groups first: that fails as long as one has members.
func (m *Manager) sweepTopic(ctx context.Context, plan Plan, number int) error {
	topic, group := events.Embedded(number), events.Numbered(embedder.StageName, number)
	if err := m.Bus.Forget(ctx, events.ToolsStandardized, group); err != nil {
		return err
	}
	if m.Vectors != nil {
		if err := m.Bus.Forget(ctx, topic, WeaviateGroup); err != nil {
			return err
		}
		if err := m.dropClass(ctx, plan, number); err != nil {
			return fmt.Errorf("index version %d: %w", number, err)
		}
	}
	if number == 1 { // its topic is always there, and is empty once it was removed
		ends, err := m.Bus.End(ctx, topic)
		if err != nil || behind(nil, ends) == 0 {
			return err
		}
	}
	return m.Bus.Remove(ctx, topic)
}

// dropClass removes what Weaviate has of a retired version, unless another version has the
// same model: a class belongs to a model.
func (m *Manager) dropClass(ctx context.Context, plan Plan, number int) error {
	i := slices.IndexFunc(plan.Retired, func(v Version) bool { return v.Number == number })
	if i < 0 || plan.Retired[i].Model == "" {
		return nil
	}
	class := classOf(plan.Retired[i])
	if m.uses(class) {
		return nil
	}
	return m.Vectors.Drop(ctx, m.Vectors.ClassOf(class))
}

// uses reports whether a version that is at work here, or that the newest plan has, is of a
// model, or may be because it was never loaded.
func (m *Manager) uses(class weaviate.Model) bool {
	plan, _ := m.Plan.Plan()
	of := func(v Version) bool { return v.Model == "" || classOf(v) == class }
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(plan.Versions, of) ||
		slices.ContainsFunc(slices.Collect(maps.Values(m.instances)), func(in *Instance) bool { return of(in.Version) })
}

// setAlias lets the alias in Weaviate name the live version. Nothing here reads it, so that
// waits where Weaviate is away.
func (m *Manager) setAlias(ctx context.Context, plan Plan) {
	if m.Vectors == nil || plan.Last == 1 || m.aliased == plan.Target {
		return
	}
	m.try("alias", "the alias in Weaviate does not name the live index version yet", func() error {
		err := m.Vectors.Switch(ctx, m.Vectors.ClassOf(classOf(m.Live().Version)))
		if err == nil {
			m.aliased = plan.Target
		}
		return err
	})
}
