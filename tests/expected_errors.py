"""Expected errors, by their fields: wording is tested once a message, where the message is made."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from corefsample.errors import CorefsampleError, ParameterHint


@contextmanager
def error(
    kind: type[CorefsampleError], parameter: str | None = None, place: str | None = None, *, hint: str | None = None
) -> Iterator[pytest.ExceptionInfo[CorefsampleError]]:
    """Expect an error of this very class with this parameter, a place that contains `place`, and a hint or none.

    A place that is not given is not compared; a parameter that is not given must be missing. `hint` is a parameter
    that the hint names.
    """
    with pytest.raises(kind) as found:
        yield found
    assert type(found.value) is kind
    assert found.value.parameter == parameter
    assert place is None or place in (found.value.place or ""), found.value.place
    if hint is not None:
        assert isinstance(found.value.hint, ParameterHint)
        assert found.value.hint.parameter == hint
