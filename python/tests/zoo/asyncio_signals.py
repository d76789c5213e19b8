"""An asyncio loop with a signal handler, subprocesses, context variables and a task that is cancelled."""
import asyncio
import contextvars
import os
import signal
import sys

variable = contextvars.ContextVar("variable", default=1)


async def main():
    loop = asyncio.get_running_loop()
    woken = asyncio.Event()
    loop.add_signal_handler(signal.SIGUSR1, woken.set)
    os.kill(os.getpid(), signal.SIGUSR1)
    await woken.wait()
    variable.set(2)
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "print('below')", stdout=-1)
    print((await process.communicate())[0], variable.get(), process.returncode)
    asyncio.create_task(asyncio.sleep(100))


asyncio.run(main())
print(variable.get())
