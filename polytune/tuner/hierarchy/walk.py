"""The walk through the search space graph: from the root, at each active node of nominal parameters one arm, to the
numeric search at the end."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from polytune.records import dataclass
from polytune.tuner.hierarchy.arms import Arm, Arms, Order
from polytune.tuner.hierarchy.branch import FiniteArms, NodeSearch
from polytune.tuner.hierarchy.methods import BANDIT, NOMINAL, NUMERIC, Methods, Search
from polytune.tuner.hierarchy.subspace import SIMPLEX, Subspace
from polytune.tuner.models.analysis import DesignStep
from polytune.tuner.searchers import EpsilonGreedy
from polytune.tuner.spaces.condition import Value
from polytune.tuner.spaces.configuration import Configuration
from polytune.tuner.spaces.node import Node
from polytune.tuner.spaces.space import Space

__all__ = ["Path", "Walk"]

_FIRST_VISITS = 64
_FEWEST_FIRST_VISITS = 4
_MOST_FAILURES = 3  # of a branch in which nothing is known to run, before it is left


@dataclass(frozen=True)
class Path:
    """A walk: the branches passed with the arms taken, and the numeric subspace that it ends in.

    Attributes:
        arms: branch and arm, from the root down.
        subspace: the end.
        is_new: whether the branches were asked for it, rather than the walk before taken once more.
    """

    arms: tuple[tuple[NodeSearch, int], ...]
    subspace: Subspace
    is_new: bool = True


class Walk:
    """The states of all searches, each created when it is first reached, and the walks among them.

    The state of a node depends on everything chosen before it (Pfaffe et al., ICS 2019, section 3.1.1: "for every
    parent nominal configuration").  A node with a single arm is passed without a search.

    An arm that is searched further gets as many measurements as its numeric search has axes, about one move of a
    simplex, before the branches are asked again: fewer tell little of what it has to offer.

    Args:
        space, rng, order, starts, searchers, promise, memory, numeric: as for `HierarchicalTuner`.
        refused: by parameter, values that no walk takes, with the reason.
        fixed: names of numeric parameters that are not searched.
    """

    def __init__(
        self,
        space: Space,
        rng: np.random.Generator,
        refused: Mapping[str, Mapping[Value, str]],
        order: Order | None,
        starts: Sequence[Configuration],
        searchers: Search | None,
        promise: float,
        memory: int,
        numeric: Callable[[], str] = lambda: SIMPLEX,
        fixed: Collection[str] = (),
    ):
        self._space = space
        self._nodes = space.graph().structural
        self._rng = rng
        self._arms = Arms(space, rng, refused, order, starts)
        self.methods = Methods(searchers, space)
        self._numeric = numeric
        self._fixed = fixed
        self._promise = promise
        self._memory = memory
        # The owners of the numeric searches, by the arms that lead to them; the least recently used first.
        self._owners: OrderedDict[tuple[int, ...], NodeSearch] = OrderedDict()
        self._last: Path | None = None
        self._left = 0  # proposals for which the last path is taken again
        self._experiments: list[tuple[Configuration, Sequence[DesignStep]]] = []  # of searches that have ended
        self._root = self._beyond({}, 0)

    # ---- branches and subspaces, created when they are reached

    def _beyond(self, chosen: Arm, depth: int, start: Configuration | None = None) -> NodeSearch | Subspace | None:
        """Return what comes after the values chosen: the next node with a choice, or the numeric search; None for
        nothing."""
        position = 0
        while position < len(self._nodes):
            node = self._nodes[position]
            position += 1
            if node.names[0] in chosen or not node.is_active(chosen):
                continue
            arms = self._arms.of(node, chosen)
            if not arms:
                return None
            if len(arms) > 1:
                return self._branch(node, chosen, arms, depth)
            chosen = {**chosen, **arms[0]}
        start = start or self._arms.start(chosen)
        if start is None:
            return None
        numeric = [parameter.name for parameter in self._space.active_numeric(start)]
        method = self.methods.of(numeric, NUMERIC, self._numeric())
        return Subspace(self._space, start, method, self._rng, self._fixed)

    def _branch(self, node: Node, chosen: Arm, arms: Sequence[Arm], depth: int) -> NodeSearch:
        first_visits = max(_FIRST_VISITS >> 2 * depth, _FEWEST_FIRST_VISITS)
        promise = self._promise ** (0.5**depth)
        method = self.methods.of(node.names, NOMINAL, BANDIT)
        search: EpsilonGreedy
        if method.name == BANDIT:
            method = method.with_defaults(promise=promise, first_visits=first_visits)
            first_visits = method.settings["first_visits"]
            search = EpsilonGreedy(len(arms), self._rng, **method.settings)
        else:
            search = FiniteArms(method, arms, self._rng, first_visits, chosen, promise=promise)
        return NodeSearch(chosen, arms, search, first_visits)

    # ---- walking

    def path(self) -> Path | None:
        """The next walk; None once everything worth it has been searched to its end."""
        if self._left > 0 and self._last is not None:
            self._left -= 1
            return self._last
        while not self.converged:
            path = self._descend()
            if path is not None:
                again = all(branch.searches_further(arm) for branch, arm in path.arms)
                self._last = Path(path.arms, path.subspace, is_new=False) if again else None
                self._left = path.subspace.dimension if again else 0
                return path
        return None

    def _descend(self) -> Path | None:
        """One walk down; None where it met a dead end, which is then closed."""
        place: NodeSearch | Subspace | None = self._root
        arms: list[tuple[NodeSearch, int]] = []
        while isinstance(place, NodeSearch):
            arm = place.search.ask()
            arms.append((place, arm))
            place = self._child(arms)
        if place is None:
            if arms:
                self._close(arms)
            return None
        return Path(tuple(arms), place)

    def _child(
        self, arms: Sequence[tuple[NodeSearch, int]], start: Configuration | None = None
    ) -> NodeSearch | Subspace | None:
        """Return what lies beyond the last arm; a numeric search begins anew where a start is given."""
        branch, arm = arms[-1]
        child = branch.children.get(arm)
        if child is None or (start is not None and isinstance(child, Subspace)):
            child = self._beyond(branch.values(arm), len(arms), start)
            if child is not None:
                branch.children[arm] = child
        if isinstance(child, Subspace):
            address = tuple(arm for _, arm in arms)
            self._owners[address] = branch
            self._owners.move_to_end(address)
            if len(self._owners) > self._memory:
                oldest, owner = self._owners.popitem(last=False)
                owner.children.pop(oldest[-1], None)
        return child

    def _close(self, arms: Sequence[tuple[NodeSearch, int]]) -> None:
        """Close the last arm, beyond which nothing is left to search."""
        branch, arm = arms[-1]
        branch.seen.add(arm)
        branch.search.close(arm)
        child = branch.children.get(arm)
        if isinstance(child, Subspace):
            if child.steps:
                self._experiments.append((Configuration(branch.values(arm)), child.steps))
            branch.children.pop(arm)
            self._owners.pop(tuple(arm for _, arm in arms), None)
        self._close_above(arms)

    def _close_above(self, arms: Sequence[tuple[NodeSearch, int]]) -> None:
        """Close the arms that lead to branches in which nothing is left."""
        for (above, arm), (branch, _) in zip(reversed(arms[:-1]), reversed(arms[1:]), strict=True):
            if not branch.search.converged:
                return
            above.seen.add(arm)
            above.search.close(arm)

    def tell(self, path: Path, point: Any, cost: float, *, failed: bool = False) -> None:
        """Learn the cost of a point of the subspace at the end of a path.

        Args:
            path: as the walk has gone it.
            point: the numeric parameters' values there, as the subspace has proposed them.
            cost: seconds; infinite where the point is infeasible.
            failed: whether it was run and failed, and not just ruled out.
        """
        best = path.subspace.best
        path.subspace.tell(point, cost)
        if path.subspace.converged:
            self._last, self._left = None, 0
        if not path.arms:
            return
        if cost == math.inf:
            self._tell_infeasible(path.arms, failed)
            self._close_above(path.arms)
        elif path.is_new or best is None or cost < best[1]:
            for branch, arm in path.arms:
                branch.tell(arm, cost)
            self._close_above(path.arms)
        if path.subspace.converged:
            self._close(path.arms)

    @staticmethod
    def _tell_infeasible(arms: Sequence[tuple[NodeSearch, int]], failed: bool) -> None:
        """Tell the branches that something beyond the arms is infeasible.  An arm further up is only once everything
        beyond it is, or enough beyond it has failed."""
        for branch, arm in reversed(arms):
            branch.failures += failed
            branch.tell(arm, math.inf)
            if not branch.is_hopeless(_MOST_FAILURES):
                break

    def learn(self, configuration: Configuration, cost: float) -> None:
        """Learn the cost of a configuration that no walk has proposed, for the branches that there are."""
        place = self._root
        while isinstance(place, NodeSearch):
            arm = place.arm_of(configuration)
            if arm is None:
                return
            place.tell(arm, cost)
            place = place.children.get(arm)

    def take_in(self, configuration: Configuration, cost: float) -> None:
        """Learn as `learn` does, and have the numeric search know it in which the configuration lies.

        Args:
            configuration: what was measured.
            cost: infinite where it is infeasible.
        """
        place = self._root
        while isinstance(place, NodeSearch):
            arm = place.arm_of(configuration)
            if arm is None:
                return
            if cost < math.inf:
                place.tell(arm, cost)
            place = place.children.get(arm)
        if isinstance(place, Subspace):
            place.learn(configuration, cost)

    def search_around(self, configuration: Configuration, cost: float) -> None:
        """Start a numeric search from a configuration that no walk has proposed, and that is the best."""
        self._last, self._left = None, 0
        path = self.path_to(configuration, restart=True)
        if path is not None:
            for branch, arm in path.arms:
                branch.tell(arm, cost)
                branch.search.reopen(arm)

    def hold(self, configuration: Configuration) -> bool:
        """Propose nothing of the first arm that leads to a configuration, until `release`; False where there is no
        such arm, or something is known of it."""
        arm = self.first_arm(configuration)
        if arm is None or not isinstance(self._root, NodeSearch) or arm in self._root.seen:
            return False
        self._root.seen.add(arm)
        self._root.search.close(arm)
        return True

    def release(self, configuration: Configuration) -> None:
        """Allow the arm to be proposed again."""
        arm = self.first_arm(configuration)
        if arm is not None and isinstance(self._root, NodeSearch):
            self._root.seen.discard(arm)
            self._root.search.reopen(arm)

    def path_to(self, configuration: Configuration, *, restart: bool = False) -> Path | None:
        """The walk that leads to a configuration; None where an arm on the way is not listed.

        Args:
            configuration: where to.
            restart: whether its numeric search begins anew, from the configuration.
        """
        place: NodeSearch | Subspace | None = self._root
        arms: list[tuple[NodeSearch, int]] = []
        start = configuration if restart else None
        while isinstance(place, NodeSearch):
            arm = place.arm_of(configuration)
            if arm is None:
                return None
            arms.append((place, arm))
            place = self._child(arms, start)
        if place is None:
            return None
        if restart and not arms:
            place = self._root = self._beyond({}, 0, configuration)
        return Path(tuple(arms), place) if isinstance(place, Subspace) else None

    def first_arm(self, configuration: Configuration) -> int | None:
        """The arm of the root that leads to a configuration; None where the root has none."""
        return self._root.arm_of(configuration) if isinstance(self._root, NodeSearch) else None

    def is_same_arm(self, one: Configuration, other: Configuration) -> bool:
        """Return whether two configurations lie beyond the same arm of the root."""
        arm = self.first_arm(one)
        return arm is not None and arm == self.first_arm(other)

    @property
    def converged(self) -> bool:
        """Return whether nothing is left that is worth a walk."""
        if isinstance(self._root, NodeSearch):
            return self._root.search.converged
        return self._root is None or self._root.converged

    def experiments(self) -> list[tuple[Configuration, Sequence[DesignStep]]]:
        """The steps of the designed experiments of this process, with the values chosen before each, in the order in
        which they ended or, where they go on, began."""
        found = list(self._experiments)
        places: list[tuple[Arm, NodeSearch | Subspace | None]] = [({}, self._root)]
        while places:
            chosen, place = places.pop(0)
            steps: Sequence[DesignStep] = ()
            if isinstance(place, Subspace):
                steps = place.steps
            elif isinstance(place, NodeSearch):
                steps = place.search.steps
                places += [(place.values(arm), child) for arm, child in place.children.items()]
            if steps:
                found.append((Configuration(dict(chosen)), steps))
        return found

    # ---- JSON

    def state(self) -> dict[str, Any]:
        """All searches, as JSON keeps them."""
        return {
            "root": None if self._root is None else self._root.state(),
            "left": self._left,
            "last": self._last and [arm for _, arm in self._last.arms],
            "used": [list(address) for address in self._owners],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state that `state` returned, of a walk with the same settings."""
        self._root = self._restored(state["root"], 0)
        self._owners.clear()
        for address in state["used"]:
            self._owners[tuple(address)] = self._follow(address)[-1][0]
        self._left, self._last = state["left"], None
        if state["last"] is not None:
            arms = self._follow(state["last"])
            place = arms[-1][0].children[arms[-1][1]] if arms else self._root
            if isinstance(place, Subspace):
                self._last = Path(arms, place, is_new=False)

    def _restored(self, state: dict[str, Any] | None, depth: int) -> NodeSearch | Subspace | None:
        if state is None:
            return None
        if "arms" not in state:
            method = self.methods.restored(state["method"])
            subspace = Subspace(self._space, Configuration(state["start"]), method, self._rng, self._fixed)
            subspace.restore(state)
            return subspace
        node = next(node for node in self._nodes if list(node.names) == list(state["arms"][0]))
        branch = self._branch(node, state["chosen"], state["arms"], depth)
        branch.search.restore(state["search"])
        branch.seen, branch.failures = set(state["seen"]), state["failures"]
        for arm, child in state["children"]:
            restored = self._restored(child, depth + 1)
            if restored is not None:
                branch.children[arm] = restored
        return branch

    def _follow(self, address: Sequence[int]) -> tuple[tuple[NodeSearch, int], ...]:
        """The branches that a list of arms leads through."""
        place, arms = self._root, []
        for arm in address:
            if not isinstance(place, NodeSearch):
                raise ValueError("the state of the search contradicts itself")
            arms.append((place, arm))
            place = place.children.get(arm)
        return tuple(arms)
