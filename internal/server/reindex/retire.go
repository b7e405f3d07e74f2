package reindex

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// Folder names the index of version 1 in the data folder; the names of other versions end
// with their number.
const Folder = "index"

func folder(data string, number int) string {
	return filepath.Join(data, events.Numbered(Folder, number))
}

// folders returns the numbers of the versions with a folder.
func folders(data string) ([]int, error) {
	entries, err := os.ReadDir(data)
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

// retirer removes versions that the plan gave up.
type retirer struct {
	cfg       Config
	plan      *PlanStore
	instances *instances
	retries   *retries
	swept     []Version // the versions of the plan at the last complete sweep
}

// closeInstances closes the instances of retired versions, and reports whether all are
// closed. The live instance stays open, without writes, until searches have left it.
func (r *retirer) closeInstances(plan Plan) (done bool) {
	list, live := r.instances.all()
	done = true
	for _, in := range list {
		if plan.Has(in.Number) {
			continue
		}
		if in == live {
			in.halt()
			done = false
			continue
		}
		r.instances.remove(in)
		if err := in.close(); err != nil {
			r.cfg.Logger.Warn("a retired index version was not closed in order", "version", in.Number, "error", err)
		}
		r.cfg.Logger.Info("an index version is retired", "version", in.Number, "setting", in.Setting)
	}
	return done
}

// sweep removes the remains of retired versions: folders in a process that searches, topics
// and groups in a process that embeds.
func (r *retirer) sweep(ctx context.Context, plan Plan) bool {
	if r.swept != nil && slices.Equal(r.swept, plan.Versions) {
		return true
	}
	return r.retries.try("sweep", "cannot remove the remains of a retired index version yet", func() error {
		var errs []error
		if r.cfg.Searches {
			numbers, err := folders(r.cfg.Settings.Data)
			errs = append(errs, err)
			for _, n := range numbers {
				if r.retired(plan, n) {
					errs = append(errs, os.RemoveAll(folder(r.cfg.Settings.Data, n)))
				}
			}
		}
		if r.cfg.Embeds {
			numbers, err := r.cfg.Bus.Versions(ctx)
			errs = append(errs, err)
			if plan.Last > 1 && err == nil {
				numbers = append(numbers, 1)
			}
			for _, n := range numbers {
				if r.retired(plan, n) {
					errs = append(errs, r.sweepTopic(ctx, plan, n))
				}
			}
		}
		err := errors.Join(errs...)
		if err == nil {
			r.swept = plan.Versions
		}
		return err
	})
}

// retired reports whether the plan gave up a version. A number above plan.Last belongs to
// a plan that this process does not know.
func (r *retirer) retired(plan Plan, number int) bool {
	in, _ := r.instances.get(number)
	return number <= plan.Last && !plan.Has(number) && in == nil
}

// sweepTopic removes the groups first, which fails as long as a group has members.
func (r *retirer) sweepTopic(ctx context.Context, plan Plan, number int) error {
	topic, bus := events.Embedded(number), r.cfg.Bus
	if err := bus.Forget(ctx, events.ToolsStandardized, stageOf(number)); err != nil {
		return err
	}
	if r.cfg.Vectors != nil {
		if err := bus.Forget(ctx, topic, WeaviateGroup); err != nil {
			return err
		}
		if err := r.dropClass(ctx, plan, number); err != nil {
			return fmt.Errorf("index version %d: %w", number, err)
		}
	}
	if number == 1 { // its topic always exists, and is empty after its removal
		ends, err := bus.End(ctx, topic)
		if err != nil || stream.Behind(nil, ends) == 0 {
			return err
		}
	}
	return bus.Remove(ctx, topic)
}

// dropClass removes a retired version from Weaviate, unless another version shares its
// model: a class belongs to a model. A version whose model was never loaded may share it.
func (r *retirer) dropClass(ctx context.Context, plan Plan, number int) error {
	i := slices.IndexFunc(plan.Retired, func(v Version) bool { return v.Number == number })
	if i < 0 || plan.Retired[i].Model == "" {
		return nil
	}
	class := classOf(plan.Retired[i])
	newest, _ := r.plan.Plan()
	versions := slices.Clone(newest.Versions)
	list, _ := r.instances.all()
	for _, in := range list {
		versions = append(versions, in.Version)
	}
	if slices.ContainsFunc(versions, func(v Version) bool { return v.Model == "" || classOf(v) == class }) {
		return nil
	}
	return r.cfg.Vectors.Drop(ctx, r.cfg.Vectors.ClassOf(class))
}
