"""Processes talk over local sockets."""

import multiprocessing


def add(values, number):
    values.append(number)


if __name__ == "__main__":
    for method in "fork", "forkserver", "spawn":
        context = multiprocessing.get_context(method)
        with context.Manager() as manager:
            values = manager.list()
            process = context.Process(target=add, args=(values, 42))
            process.start()
            process.join()
            print(method, list(values))
