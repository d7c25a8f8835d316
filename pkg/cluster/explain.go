package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Explain says in our own words what an API server answered, or that it did not answer. The cause stays reachable for
// errors.As and the predicates of the API's error package.
func Explain(err error) error {
	if err == nil {
		return nil
	}
	var explained *explainedError
	if errors.As(err, &explained) {
		return err
	}
	if words := words(err); words != "" {
		return &explainedError{words: words, cause: err}
	}
	return err
}

type explainedError struct {
	words string
	cause error
}

func (e *explainedError) Error() string { return e.words }
func (e *explainedError) Unwrap() error { return e.cause }

func words(err error) string {
	var network net.Error
	switch {
	case apierrors.IsForbidden(err):
		return forbidden(err)
	case apierrors.IsUnauthorized(err):
		return "the server does not know who you are; log in again"
	case replaced(err):
		return "deleted and made anew in the meantime"
	case testFailed(err):
		return "changed by somebody else in the meantime"
	case apierrors.IsInvalid(err):
		return "not valid: " + causes(err)
	case apierrors.IsAlreadyExists(err):
		return "an object of this name exists already"
	case apierrors.IsNotFound(err):
		return "not found"
	case apierrors.IsConflict(err):
		return "changed by somebody else in the meantime"
	case apierrors.IsTooManyRequests(err):
		if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
			return fmt.Sprintf("the server asks to wait %ds: %s", seconds, message(err))
		}
		return "the server has too much to do: " + message(err)
	case errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return "no answer in time"
	case errors.As(err, &network):
		return "the server cannot be reached: " + err.Error()
	}
	return ""
}

// message is what the server said.
func message(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	return err.Error()
}

// forbidden keeps what comes after the API's own preamble: who may not do what, or which quota is used up.
func forbidden(err error) string {
	_, reason, found := strings.Cut(message(err), " is forbidden: ")
	if !found {
		reason = message(err)
	}
	if strings.HasPrefix(reason, "User ") {
		return "no permission: " + reason
	}
	return "refused: " + reason
}

// causes lists the fields that the server complains about.
func causes(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		return message(err)
	}
	var parts []string
	for _, c := range status.Status().Details.Causes {
		parts = append(parts, strings.TrimPrefix(c.Field+": "+c.Message, ": "))
	}
	return strings.Join(parts, "; ")
}

// observeAgain says that the world is not as the plan saw it: another has written the object, replaced it, or taken the
// name, or a test operation of a JSON patch did not hold.
func observeAgain(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsGone(err) || testFailed(err) || replaced(err)
}

// replaced recognises the answer to a patch that names another UID than the object's: the server takes it for a change.
func replaced(err error) bool {
	cause, found := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid)
	return found && apierrors.IsInvalid(err) && cause.Field == "metadata.uid"
}

// testFailed recognises the answer to a JSON patch whose test did not hold: not processable, without a single field.
func testFailed(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	s := status.Status()
	return s.Code == 422 && s.Reason == metav1.StatusReasonInvalid && (s.Details == nil || len(s.Details.Causes) == 0)
}

// unanswered says that a write may or may not have been carried out.
func unanswered(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	return status.Status().Code >= 500 || apierrors.IsTimeout(err)
}
