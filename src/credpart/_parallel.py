"""Pure tasks in parallel, through joblib: the results come in order, and as they are ready.

A worker process that the system kills, as it does when memory runs out, costs a retry: the tasks
have no side effects and carry their own seeds, so the result is the same to the byte.  Dask
retries the tasks of its workers by itself.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from credpart._messages import Name
from credpart.errors import WorkerError, WorkerWarning, warn_caller

RETRIES = 3  # after workers were killed; the next time it is no accident

Result = TypeVar("Result")


def run_tasks(
    function: Callable[..., Result], tasks: Sequence[tuple[Any, ...]], n_jobs: int | None
) -> Iterator[Result]:
    """Yield ``function(*task)`` for each task, in threads or on the backend that the user chose.

    >>> list(run_tasks(pow, [(2, 3), (3, 2)], None))
    [8, 9]
    """
    done = n_killed = 0
    while done < len(tasks):
        parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
        try:
            for result in parallel(delayed(function)(*task) for task in tasks[done:]):
                yield result
                done += 1
        except TerminatedWorkerError as error:
            n_killed += 1
            if n_killed > RETRIES:
                raise WorkerError(
                    f"Worker processes were killed {n_killed} times, as the system does when "
                    "memory runs out. Give a smaller ",
                    Name("n_jobs"),
                    ", or use threads.",
                ) from error
            if n_killed == 1:
                told = "A worker process was killed; its tasks are run again."
                warn_caller(WorkerWarning(told))
