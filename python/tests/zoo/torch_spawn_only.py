"""CUDA is used in a process that is spawned, not in this one."""
# gpu: yes
import multiprocessing


def work(queue):
    import torch

    queue.put(tuple(torch.ones(1024, device="cuda").shape))


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=work, args=(queue,))
    child.start()
    print(queue.get())
    child.join()
    print(child.exitcode)
