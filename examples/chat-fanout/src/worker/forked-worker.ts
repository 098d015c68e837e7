import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { WorkerCounts } from './worker.ts'
import type { WorkerMessage, WorkerTask } from './worker-task.ts'

/** A worker in a process of its own, as its parent sees it. */
export interface ForkedWorker {
  readonly url: string
  counts(): Promise<WorkerCounts>
  /** Ends it as a power cut would. */
  kill(): Promise<void>
  stop(): Promise<void>
}

/** Starts a worker in a process of its own. */
export async function forkWorker(task: WorkerTask): Promise<ForkedWorker> {
  const file = join(import.meta.dirname, 'worker-process.ts')
  const child = fork(file, [JSON.stringify(task)], { execArgv: process.execArgv })
  const exited = once(child, 'exit')
  const { url } = await Promise.race([answer(child, 'listening'), exited.then(() => fail(task.name))])
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    child.kill(signal)
    await exited
  }
  return {
    url,
    counts() {
      const counts = answer(child, 'counts')
      child.send('counts')
      return counts
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  }
}

async function answer<K extends WorkerMessage['kind']>(
  child: ChildProcess,
  kind: K,
): Promise<Extract<WorkerMessage, { kind: K }>> {
  for (;;) {
    const [message] = (await once(child, 'message')) as [WorkerMessage]
    if (message.kind === kind) return message as Extract<WorkerMessage, { kind: K }>
  }
}

function fail(name: string): never {
  throw new Error(`The worker ${name} ended before it listened.`)
}
