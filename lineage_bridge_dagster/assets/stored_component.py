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
from lineage_bridge_dagster.dagster_internals import pin_newest_state
from lineage_bridge_dagster.errors import ConfigurationError

#: Where states are stored by default.
STATE = DefsStateConfigArgs(
    # LOCAL_FILESYSTEM deletes the last good state before it fetches the next one.
    management_type="VERSIONED_STATE_STORAGE",
    # What a state is read from may be down when definitions load, and the definitions would be gone with it.
    refresh_if_dev=False,
)


class StoredComponent(StateBackedComponent, YamlSection):
    """Builds its definitions from the newest stored state, or without one if it cannot be fetched.

    A subclass declares the fields `name` and `defs_state`, where its YAML shall have them.
    """

    #: The key of the state of an instance without a name.
    STATE_KEY: ClassVar[str]

    if TYPE_CHECKING:
        name: str
        defs_state: ResolvedDefsStateConfig

    #: Whether the last build could fetch the stored state, if there is one.
    _fetched: bool = PrivateAttr(default=False)

    @property
    def defs_state_config(self) -> DefsStateConfig:
        key = f"{self.STATE_KEY}[{self.name}]" if self.name else self.STATE_KEY
        return DefsStateConfig.from_args(self.defs_state, default_key=key)

    def build_stored(self, context: ComponentLoadContext) -> Definitions:
        """Build the definitions of the newest stored state."""
        self._fetched = False
        try:
            pin_newest_state(self.defs_state_config.key)
            return super().build_defs(context)
        except Exception as error:
            if self._fetched:
                raise
            self.warn_unreadable(error)
            return self.build_defs_from_state(context, None)

    def build_defs_from_state(
        self,
        context: ComponentLoadContext,  # noqa: ARG002 - the definitions depend on the state alone
        state_path: Path | None,
    ) -> Definitions:
        """Build the definitions of a state, or those without one."""
        self._fetched = True
        return self.definitions_of(state_path)

    @abstractmethod
    def definitions_of(self, state_path: Path | None) -> Definitions:
        """The definitions of a stored state; None if there is none, or if it cannot be fetched."""

    @abstractmethod
    def warn_unreadable(self, error: Exception) -> None:
        """Log that the stored state cannot be fetched, and what follows."""


def check_names(instances: Sequence[StoredComponent], component: str, named_after: str) -> None:
    """Check that all instances in a code location have names of their own.

    Args:
        instances: of one component.
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
