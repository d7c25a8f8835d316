package cli

import (
	"context"
	"errors"
	"fmt"
)

// Code is the exit code of the process.
type Code int

// The exit codes (design.md "What a person sees"). Interrupted, PipeClosed and Terminated are 128 and the signal.
const (
	OK            Code = 0
	Failure       Code = 1
	Usage         Code = 2
	RolloutFailed Code = 3
	TimedOut      Code = 4
	Paused        Code = 5
	Superseded    Code = 6
	Differences   Code = 10
	Interrupted   Code = 130
	PipeClosed    Code = 141
	Terminated    Code = 143
)

// Meaning is the sentence that the command reference prints for each code.
func (c Code) Meaning() string {
	return map[Code]string{
		OK:            "the goal is reached",
		Failure:       "an error: no permission, a missing kind, an object being deleted, a lease held by another",
		Usage:         "the command line asks for something that cannot be: a bad value, an unknown container or kind",
		RolloutFailed: "the rollout failed",
		TimedOut:      "--timeout is over; what was recorded stays",
		Paused:        "stopped because the workload is paused",
		Superseded:    "somebody else changed the workload or took over",
		Differences:   "differences were found",
		Interrupted:   "interrupted (Ctrl-C)",
		PipeClosed:    "the reader of the output went away",
		Terminated:    "terminated",
	}[c]
}

// Codes lists all exit codes in order.
func Codes() []Code {
	return []Code{OK, Failure, Usage, RolloutFailed, TimedOut, Paused, Superseded, Differences, Interrupted, PipeClosed, Terminated}
}

// Error is an error with an exit code. Without Err there is nothing more to say: the verb has told the outcome already.
type Error struct {
	Code Code
	Err  error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap gives the error inside.
func (e *Error) Unwrap() error { return e.Err }

// Usagef is an error of the command line: one sentence that names the field and the allowed values.
func Usagef(format string, args ...any) error {
	return &Error{Code: Usage, Err: fmt.Errorf(format, args...)}
}

// Stopped ends a verb with a code when its outcome has been told already.
func Stopped(code Code) error { return &Error{Code: code} }

// CodeOf is the one table from errors to exit codes. An error without a code is a Failure; the end of ctx by a signal or
// a closed pipe explains failures that it caused.
func CodeOf(ctx context.Context, err error) Code {
	if err == nil {
		return OK
	}
	var coded, cause *Error
	if errors.As(err, &coded) {
		return coded.Code
	}
	if ctx.Err() != nil && errors.As(context.Cause(ctx), &cause) {
		return cause.Code
	}
	return Failure
}

// Silent says that err needs no line of its own: the verb spoke already, or the user knows because they stopped it.
func Silent(ctx context.Context, err error) bool {
	var coded *Error
	if errors.As(err, &coded) {
		return coded.Err == nil
	}
	return CodeOf(ctx, err) != Failure
}
