package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/implementation/install"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/result"
	engine "github.com/gatemark/gatemark/run"
	"github.com/gatemark/gatemark/scenario"
)

// installAll installs what the cluster does not have. One that cannot be
// installed does not keep the others from being measured.
func (c *conductor) installAll(ctx context.Context) (err error) {
	c.installer = &install.Installer{
		Config: c.cluster.Config, Images: c.images, LoadImage: c.cluster.LoadImage, Progress: c.progress, Run: c.run.ID,
		Deadline: c.installTimeout,
	}
	if c.installer.GatewayAPI, err = c.gatewayAPI(); err != nil {
		return err
	}
	for _, s := range newestFirst(c.subjects) {
		if s.found != nil {
			continue
		}
		if s.err = c.install(ctx, s); ctx.Err() != nil {
			return fmt.Errorf("implementation %s: %w", s, s.err)
		}
		if s.err != nil && len(c.subjects) > 1 {
			c.progress.Printf("%s is left out: %v", s, s.err)
		}
	}
	return errAll(c.subjects)
}

// gatewayAPI is the one release for all that is to be installed; nil if
// nothing is.
func (c *conductor) gatewayAPI() (*implementation.GatewayAPI, error) {
	var all []*implementation.Implementation
	for _, s := range c.subjects {
		if s.found == nil {
			all = append(all, s.impl)
		}
	}
	return install.Newest(all)
}

// install installs a subject, beside another version of it if there is one.
func (c *conductor) install(ctx context.Context, s *subject) (err error) {
	i := s.impl
	if slices.ContainsFunc(c.installed, func(in *install.Installed) bool { return in.Implementation == i.Name }) {
		if i, err = i.InstalledBeside(besideLabel(s)); err != nil {
			return err
		}
	}
	if i, err = i.WithCheckout(s.Checkout); err != nil {
		return err
	}
	if i, err = i.WithValues(s.Values); err != nil {
		return err
	}
	s.impl = i
	if s.installed, err = c.installer.Install(ctx, i, s.Variant); err != nil {
		return err
	}
	c.installed = append(c.installed, s.installed)
	c.parkable[s.Installation()], err = engine.Installation(i)
	return err
}

// targets describes, for the runner and for the result, what each treatment
// measures.
func (c *conductor) targets() (map[string]scenario.Target, error) {
	targets := map[string]scenario.Target{}
	for _, t := range c.plan.Implementations {
		s := c.subject(t)
		if s.err != nil {
			continue
		}
		target, err := engine.Target(t.String(), s.impl)
		if err != nil {
			return nil, err
		}
		target.Address, target.Unknown = t.Address, s.unknown
		if s.installed != nil {
			target.Images = s.installed.Wanted()
		}
		targets[t.String()] = target
		if s.found != nil {
			c.run.Implementations[t.String()] = describeFound(s.impl, s.found)
		} else {
			c.run.Implementations[t.String()] = describe(s.impl, s.installed)
		}
	}
	return targets, nil
}

// skip writes the trials of what could not be installed, with the reason.
func (c *conductor) skip() error {
	for _, t := range c.plan.Implementations {
		s := c.subject(t)
		if s.err == nil {
			continue
		}
		c.run.Notes = append(c.run.Notes, fmt.Sprintf("%s was not measured: %v", t, s.err))
		for _, ref := range c.run.Schedule {
			if ref.Implementation != t.String() {
				continue
			}
			err := c.dir.WriteTrial(&result.Trial{
				SchemaVersion: result.SchemaVersion, RunID: c.run.ID, ID: ref.ID,
				Implementation: ref.Implementation, Scenario: ref.Scenario, Variant: ref.Variant, Block: ref.Block,
				Attempt: 1, Started: time.Now(), Outcome: result.Skipped, Reason: "it could not be installed: " + s.err.Error(),
			}, nil)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// missing is the error of a run that was completed without some of its
// implementations.
func (c *conductor) missing() error {
	var names []string
	var hints []error
	for _, s := range c.subjects {
		if s.err != nil {
			names = append(names, s.String())
			hints = append(hints, s.err)
		}
	}
	if len(names) == 0 {
		return nil
	}
	err := fmt.Errorf("%d of %d implementations could not be installed, and were not measured: %s", len(names), len(c.subjects), strings.Join(names, ", "))
	for _, hint := range failure.Hints(errors.Join(hints...)) {
		err = failure.Hint(err, hint)
	}
	return err
}
