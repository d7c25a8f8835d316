package cli

import (
	"runtime/debug"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// Deps is everything a command takes from outside. The zero value of a field is not usable unless its comment says so.
type Deps struct {
	genericiooptions.IOStreams
	// OutTerminal and ErrTerminal say that the streams are terminals.
	OutTerminal, ErrTerminal bool
	// Config finds the cluster. The root command fills it from kubectl's global flags when it is nil.
	Config genericclioptions.RESTClientGetter
	// Now is the clock.
	Now func() time.Time
	// Random gives seeds and unique names.
	Random func() uint64
	// LookupEnv reads the environment.
	LookupEnv func(key string) (string, bool)
	// Hostname names this machine in the holder of a Lease.
	Hostname func() (string, error)
	// Version is the version that the program was released as; empty when Build tells it.
	Version string
	// AgentImage is the image of kruise-agent that was released with the program; empty when there is none.
	AgentImage string
	// Build says what this program was built from; nil when unknown.
	Build *debug.BuildInfo
	// SetLogLevel lets client libraries write logs of up to that level to the error stream; nil ignores it. They write
	// nothing before it is called.
	SetLogLevel func(level int)
}

// Colour says whether control codes for colour may be written to a stream of which terminal tells what it is: NO_COLOR
// and TERM=dumb turn them off.
func (d *Deps) Colour(terminal bool) bool {
	if !terminal {
		return false
	}
	if v, _ := d.LookupEnv("NO_COLOR"); v != "" {
		return false
	}
	term, _ := d.LookupEnv("TERM")
	return term != "dumb"
}

// Namespace is the namespace that the command works in, from -n or the context.
func (d *Deps) Namespace() (string, error) {
	namespace, _, err := d.Config.ToRawKubeConfigLoader().Namespace()
	return namespace, err
}
