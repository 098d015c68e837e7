import { abortReason } from '../runtime/abort.ts'

/** Lets one task at a time run for each name. Tasks of different names never wait for each other. */
export interface NamedMutex {
  /** Names in use. Zero at rest: a name leaves nothing behind. */
  readonly size: number
  /**
   * Runs `task` when every task that came before it under this name has ended, and answers what it answers. How those
   * ended does not matter. A task that waits for another one of its own name waits for ever.
   *
   * When the signal aborts while the task waits, it is not run, and the promise rejects with the signal's reason. Once
   * the task runs the signal is its own affair.
   */
  run<T>(name: string, task: () => T | Promise<T>, signal?: AbortSignal): Promise<T>
}

/** Makes a {@link NamedMutex}. */
export function createNamedMutex(): NamedMutex {
  // A name is here while one of its tasks runs; its list holds what lets the next ones go.
  const waiting = new Map<string, (() => void)[]>()

  const letNextGo = (name: string): void => {
    const next = waiting.get(name)?.shift()
    if (next === undefined) waiting.delete(name)
    else next()
  }

  return {
    get size() {
      return waiting.size
    },
    async run(name, task, signal) {
      if (signal?.aborted) throw abortReason(signal)
      const queue = waiting.get(name)
      if (queue === undefined) waiting.set(name, [])
      else await turnIn(queue, signal)
      try {
        return await task()
      } finally {
        letNextGo(name)
      }
    },
  }
}

function turnIn(queue: (() => void)[], signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const go = (): void => {
      signal?.removeEventListener('abort', leave)
      resolve()
    }
    const leave = (): void => {
      queue.splice(queue.indexOf(go), 1)
      reject(abortReason(signal as AbortSignal))
    }
    queue.push(go)
    signal?.addEventListener('abort', leave, { once: true })
  })
}
