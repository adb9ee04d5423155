"""The base of components that build their definitions from a stored state."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from dagster import ComponentLoadContext, Definitions
from dagster.components import DefsStateConfig, DefsStateConfigArgs, ResolvedDefsStateConfig
from dagster.components.component.state_backed_component import StateBackedComponent
from pydantic import PrivateAttr

from lineage_bridge_dagster.config.yaml_section import YamlSection
from lineage_bridge_dagster.dagster_internals.definitions import is_reloading, pin_newest_state
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.text import first_line

#: Where states are stored by default.
STATE = DefsStateConfigArgs(
    # LOCAL_FILESYSTEM deletes the last good state before it fetches the next one.
    management_type="VERSIONED_STATE_STORAGE",
    # A refresh on load would fail while its source is down, and the definitions would be lost.
    refresh_if_dev=False,
)


class ReplacedStateError(LineageBridgeError):
    """The newest state cannot be loaded in place of the one that is loaded."""


class StoredComponent(StateBackedComponent, YamlSection):
    """Builds its definitions from the newest stored state, or without one if it cannot be loaded.

    A code server that starts loads in any case, since only what it serves can mend the state. One that is
    running keeps the definitions that it has instead: its assets must not vanish while a bucket is down.

    A subclass declares the fields `name` and `defs_state`, where its YAML shall have them.
    """

    #: The key of the state of an instance without a name.
    STATE_KEY: ClassVar[str]

    if TYPE_CHECKING:
        name: str
        defs_state: ResolvedDefsStateConfig

    #: Whether the last build could fetch the stored state, if there is one.
    _fetched: bool = PrivateAttr(default=False)
    #: Whether the build replaces definitions that a code server has.
    _is_reloading: bool = PrivateAttr(default=False)

    @property
    def defs_state_config(self) -> DefsStateConfig:
        key = f"{self.STATE_KEY}[{self.name}]" if self.name else self.STATE_KEY
        return DefsStateConfig.from_args(self.defs_state, default_key=key)

    def build_stored(self, context: ComponentLoadContext) -> Definitions:
        """Build the definitions of the newest stored state.

        Raises:
            ReplacedStateError: it cannot be loaded, and a code server has those of an earlier one.
        """
        self._fetched, self._is_reloading = False, is_reloading(self.defs_state_config.key)
        try:
            pin_newest_state(self.defs_state_config.key)
            return super().build_defs(context)
        except Exception as error:
            if self._fetched:
                raise
            return self.definitions_of(None, self._unusable(self.fetch_error(error)))

    def build_defs_from_state(
        self,
        context: ComponentLoadContext,  # noqa: ARG002 - the definitions depend on the state alone
        state_path: Path | None,
    ) -> Definitions:
        """Build the definitions of a state, or those without one."""
        self._fetched = True
        return self.definitions_of(state_path)

    def fetch_error(self, error: Exception) -> LineageBridgeError:
        """What to report where the stored state could not be fetched."""
        text = f"{type(error).__name__}: {first_line(error)}"
        return LineageBridgeError(
            f"It cannot be fetched: {text.rstrip('.')}.",
            hint="Check defs_state_storage in dagster.yaml, and that this process may read there.",
        )

    def _unusable(self, error: LineageBridgeError) -> LineageBridgeError:
        """The reason why definitions are built without their state.

        Raises:
            ReplacedStateError: those that a code server has are better.
        """
        if self._is_reloading:
            raise ReplacedStateError(error.message, hint=error.hint) from error
        self.warn_unusable(error)
        return error

    @abstractmethod
    def definitions_of(
        self, state_path: Path | None, problem: LineageBridgeError | None = None
    ) -> Definitions:
        """The definitions of a stored state.

        Args:
            state_path: its file; None if nothing is stored, or if it cannot be fetched.
            problem: why it cannot be fetched.
        """

    @abstractmethod
    def warn_unusable(self, error: LineageBridgeError) -> None:
        """Log why the definitions are built without their state, and what follows."""


def check_names(instances: Sequence[StoredComponent], component: str, named_after: str) -> None:
    """Check that all instances in a code location have names of their own.

    Args:
        component: what errors call it.
        named_after: what is named after an instance.

    Raises:
        ConfigurationError: two have the same name, but for capitals.
    """
    for name, count in Counter(instance.name.lower() for instance in instances).items():
        if count > 1:
            raise ConfigurationError(
                f"{count} instances of {component} have {f'the name {name}' if name else 'no name'}.",
                hint="Set a name of its own in the defs.yaml of each, such as name: eu. Their "
                f"{named_after} are named after it.",
            )
