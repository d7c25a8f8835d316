// Command kubectl-kruise is the kubectl plugin. It connects the process (streams, signals, exit code) with the verbs in
// pkg/commands and does nothing else.
package main

import (
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
)

// version is set by the linker (make build). Without it the build information of the Go tool is used.
var version string

// agentImage is set by the linker (make build AGENT_IMAGE=...): what `install` installs unless it is told otherwise.
var agentImage string

func main() {
	os.Exit(int(run()))
}

func run() cli.Code {
	quietLogs()
	keepSmall()
	ctx, stop := untilSignal()
	defer stop()
	build, _ := debug.ReadBuildInfo()
	return commands.Main(ctx, cli.Deps{
		IOStreams:   genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		OutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		ErrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		Now:         time.Now,
		Random:      rand.Uint64,
		LookupEnv:   os.LookupEnv,
		Hostname:    os.Hostname,
		Version:     version,
		AgentImage:  agentImage,
		Build:       build,
		SetLogLevel: showLogs,
	}, os.Args[1:])
}

// keepSmall collects garbage earlier than Go does by itself: the heap is small beside the program, so that it costs little
// processor time. GOGC has the last word.
func keepSmall() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// quietLogs keeps the client libraries' logs out of the output; what a user must know is told by the verbs.
// Errors would go to the error stream all the same, without the threshold.
func quietLogs() {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	_ = flags.Set("stderrthreshold", "FATAL") // a level that klog knows
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
}

func showLogs(level int) {
	klog.SetOutput(os.Stderr)
	var v klog.Level
	_ = v.Set(strconv.Itoa(level)) // sets the level of the whole process; a number always parses
}
