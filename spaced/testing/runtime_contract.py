"""The runtime contract: every promise of `spaced.runtime.protocol`, as tests to inherit.

A plugin proves its runtime with one class in its own test suite:

    from spaced.testing.runtime_contract import RuntimeContract
    from spaced.testing.runtime_harness import Behaviour, RuntimeHarness

    class MyHarness(RuntimeHarness):
        def profile_that(self, behaviour: Behaviour) -> Profile | None:
            ...  # a profile whose agent behaves like this, or None

    class TestMyRuntime(RuntimeContract):
        @pytest.fixture
        def harness(self, tmp_path: Path) -> RuntimeHarness:
            return MyHarness(make_my_runtime, tmp_path)

What an agent cannot be made to do is skipped, and the skip says why. Time is a fake clock's;
processes are real. The suite needs pytest and pytest-asyncio, in any mode. For readable failures
put `pytest.register_assert_rewrite("spaced.testing")` at the top of the `conftest.py`.
"""

from spaced.testing.runtime_topics.asking import AskingPromises
from spaced.testing.runtime_topics.closing import ClosingPromises
from spaced.testing.runtime_topics.conversations import ConversationPromises
from spaced.testing.runtime_topics.interrupting import InterruptingPromises
from spaced.testing.runtime_topics.reaching import ReachingPromises
from spaced.testing.runtime_topics.reporting import ReportingPromises
from spaced.testing.runtime_topics.steering import SteeringPromises
from spaced.testing.runtime_topics.turns import TurnPromises


class RuntimeContract(
    TurnPromises,
    ReportingPromises,
    SteeringPromises,
    InterruptingPromises,
    AskingPromises,
    ClosingPromises,
    ConversationPromises,
    ReachingPromises,
):
    """Everything that a runtime promises; inherit it and give it a harness."""
